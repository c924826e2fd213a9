import type { Readable, Writable } from "node:stream";
import type { WriteStream } from "node:tty";
import { redactKeys } from "../accounts/api-key.ts";

/** Where a command reads and writes. Results and everything else go separate ways. */
export interface Terminal {
  /** Standard input, as it comes. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Standard error where a person looks at it: the place for a progress bar. */
  readonly screen: WriteStream | undefined;
  /**
   * Writes a piece of the result to standard output; resolves when more may follow. `false`: the reader has left
   * (as `head` does), which is no error, and nothing more needs to be made.
   */
  print(text: string): Promise<boolean>;
  /** Writes a line to standard error, which ends up in logs: without the keys that somebody gave by mistake. */
  tell(line: string): void;
}

/** The streams of a process. */
export interface Streams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Binds a terminal to the streams of a process. */
export function createTerminal({ stdin, stdout, stderr }: Streams): Terminal {
  // What goes wrong on standard output is told by the write; nobody is left to hear of standard error.
  stdout.on("error", () => {});
  stderr.on("error", () => {});

  return {
    input: stdin,
    screen: isScreen(stderr) ? stderr : undefined,
    print: (text) =>
      new Promise((resolve, reject) => {
        stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
          if (error == null) resolve(true);
          else if (READER_LEFT.has(error.code ?? "")) resolve(false);
          else reject(new Error(`Standard output cannot be written: ${error.code ?? error.message}.`));
        });
      }),
    tell: (line) => {
      stderr.write(`${redactKeys(line)}\n`);
    },
  };
}

const READER_LEFT = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "EOF"]);

function isScreen(stream: Writable): stream is WriteStream {
  return "isTTY" in stream && stream.isTTY === true;
}
