import type { Readable, Writable } from "node:stream";
import type { WriteStream } from "node:tty";
import { redactKeys } from "../accounts/api-key.ts";
import { createLogWriter } from "./log-writer.ts";

/** Input and output of a command. Results go to standard output, everything else to standard error. */
export interface Terminal {
  /** Standard input, as bytes. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Standard error if it is an interactive terminal, for a progress bar. */
  readonly screen: WriteStream | undefined;
  /** Standard output if it is an interactive terminal, for a result that is repainted. */
  readonly display: WriteStream | undefined;
  /** True if standard output is an interactive terminal. */
  readonly isInteractive: boolean;
  /**
   * Writes part of the result to standard output; resolves when more can be written. Resolves to `false` if the reader
   * has closed the pipe (as `head` does): this is not an error, and the command can stop.
   */
  print(text: string): Promise<boolean>;
  /**
   * Writes a line to standard error. API keys are redacted, because these lines end up in logs. Lines are dropped while
   * too many are waiting for the reader; `drainLog` prevents this.
   */
  log(line: string): void;
  /** Resolves when the reader of standard error has caught up, or has closed the pipe. */
  drainLog(): Promise<void>;
}

/** The streams of a process. */
export interface Streams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Creates a terminal from the streams of a process. */
export function createTerminal({ stdin, stdout, stderr }: Streams): Terminal {
  // `print` reports errors of standard output. An error of standard error cannot be reported anywhere.
  stdout.on("error", () => {});
  stderr.on("error", () => {});

  const logWriter = createLogWriter(stderr);

  return {
    input: stdin,
    screen: isInteractive(stderr) ? stderr : undefined,
    isInteractive: isInteractive(stdout),
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
