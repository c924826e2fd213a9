import { write } from "node:fs";
import { type Readable, Writable } from "node:stream";
import type { WriteStream } from "node:tty";
import { redactKeys } from "../accounts/api-key.ts";
import { waitForDrain } from "../core/concurrency.ts";
import { formatCount, toPrintedJson } from "../core/text.ts";
import type { EnvironmentVariables } from "./settings.ts";

/** Input and output of a command. Results go to standard output, everything else to standard error. */
export interface Terminal {
  readonly input: Readable;
  /** Standard error if it is an interactive terminal. */
  readonly screen: WriteStream | undefined;
  /** The same, if a progress bar can be drawn on it: with `TERM=dumb`, the cursor cannot be moved. */
  readonly barScreen: WriteStream | undefined;
  /** Standard output if it is an interactive terminal, for hints to a person. */
  readonly display: WriteStream | undefined;
  /** Resolves when more can be written; to `false` if the reader has closed the pipe, as `head` does: that is no error. */
  print(text: string): Promise<boolean>;
  /** Writes a line, without keys, to standard error. It is dropped if too many wait for the reader; `drainLog` prevents it. */
  log(line: string): void;
  /** Resolves when the reader of standard error has caught up, or has closed the pipe. */
  drainLog(): Promise<void>;
}

/** Reads all of standard input, unless that is too much. */
export async function readInput(input: Readable, maxChars: number) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of input) {
    text += decoder.decode(chunk, { stream: true });
    const message = `The input is longer than ${formatCount(maxChars)} characters.`;
    if (text.length > maxChars) return { ok: false, message } as const;
  }
  return { ok: true, text } as const;
}

export interface Streams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

export function createTerminal({ stdin, stdout, stderr }: Streams, env: EnvironmentVariables): Terminal {
  // `print` reports errors of standard output. An error of standard error cannot be reported anywhere.
  stdout.on("error", () => {});
  stderr.on("error", () => {});

  const logWriter = createLogWriter(stderr);
  const screen = isInteractive(stderr) ? stderr : undefined;

  return {
    input: stdin,
    screen,
    barScreen: env["TERM"] === "dumb" ? undefined : screen,
    display: isInteractive(stdout) ? stdout : undefined,
    print: (text) =>
      new Promise((resolve, reject) => {
        stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
          if (error == null) resolve(true);
          else if (READER_CLOSED.has(error.code ?? "")) resolve(false);
          else reject(new Error(`Standard output cannot be written: ${error.code ?? error.message}.`));
        });
      }),
    log: (line) => logWriter.write(redactKeys(line)),
    drainLog: logWriter.drain,
  };
}

const READER_CLOSED = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "EOF"]);

function isInteractive(stream: Writable): stream is WriteStream {
  return "isTTY" in stream && stream.isTTY === true;
}

/** Never waits for the disk, as Node's own stream does, and with it every response. What the disk refuses is lost. */
export function createFileStream(descriptor: number): Writable {
  const append = (bytes: Uint8Array, done: () => void) => write(descriptor, bytes, () => done());
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => append(chunk, done),
    writev: (parts, done) => append(Buffer.concat(parts.map(({ chunk }) => chunk)), done),
  });
}

export const MAX_BUFFERED_LOG_BYTES = 1024 * 1024;

/** A longer line is cut. A character takes up to three bytes, so that one line alone is never beyond that. */
const MAX_LINE_CHARS = MAX_BUFFERED_LOG_BYTES / 4;

/** Lines beyond the limit are dropped; their number is logged once the reader has caught up, as JSON if they were. */
export function createLogWriter(stream: Writable) {
  let dropped = 0;
  let isJson = false;

  function reportDropped(): void {
    const message = `${dropped} log lines were dropped, because standard error was not read fast enough.`;
    dropped = 0;
    stream.write(`${isJson ? formatLogEntry("warn", message, new Date()) : message}\n`);
  }

  return {
    write(text: string): void {
      const line = text.length > MAX_LINE_CHARS ? cut(text) : text;
      if (stream.writableLength + Buffer.byteLength(line) < MAX_BUFFERED_LOG_BYTES) {
        stream.write(`${line}\n`);
        return;
      }
      if (dropped === 0) stream.once("drain", reportDropped);
      isJson = line.startsWith("{");
      dropped += 1;
    },

    async drain(): Promise<void> {
      if (stream.writableNeedDrain) await waitForDrain(stream);
    },
  };
}

/** The start of a line. That of a line of JSON becomes the message of a new one, which a program can read. */
function cut(line: string): string {
  const start = `${line.slice(0, MAX_LINE_CHARS)}…`;
  return line.startsWith("{") ? formatLogEntry("error", start, new Date()) : start;
}

export type LogLevel = "error" | "warn" | "info";

export function formatLogEntry(level: LogLevel, message: string, at: Date, details: object = {}): string {
  return toPrintedJson({ at: at.toISOString(), level, message, ...details });
}
