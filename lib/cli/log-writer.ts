import type { Writable } from "node:stream";

/** Writes lines to a stream with a bounded buffer. */
export interface LogWriter {
  write(line: string): void;
  /** Resolves when the reader has caught up, or has closed the stream. */
  drain(): Promise<void>;
}

/** The most text that is buffered for a reader that does not keep up, in bytes. */
export const MAX_BUFFERED_LOG_BYTES = 1024 * 1024;

/**
 * Writes lines to a stream. While the reader does not keep up, lines beyond `MAX_BUFFERED_LOG_BYTES` are dropped, so
 * that a stalled reader does not exhaust memory. Once the reader has caught up, the number of dropped lines is logged.
 */
export function createLogWriter(stream: Writable): LogWriter {
  let dropped = 0;

  function reportDropped(): void {
    const count = dropped;
    dropped = 0;
    stream.write(`${count} log lines were dropped, because standard error was not read fast enough.\n`);
  }

  return {
    write(line) {
      if (stream.writableLength + Buffer.byteLength(line) < MAX_BUFFERED_LOG_BYTES) {
        stream.write(`${line}\n`);
        return;
      }
      if (dropped === 0) stream.once("drain", reportDropped);
      dropped += 1;
    },

    drain: () =>
      new Promise((resolve) => {
        if (!stream.writableNeedDrain || stream.destroyed) return resolve();
        const done = () => {
          stream.off("drain", done).off("close", done);
          resolve();
        };
        stream.on("drain", done).on("close", done);
      }),
  };
}
