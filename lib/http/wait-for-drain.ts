/** The part of a writable Node stream that `waitForDrain` uses. */
export interface DrainSource {
  readonly destroyed: boolean;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** Resolves when the stream has written its buffer, or has closed. */
export function waitForDrain(stream: DrainSource, event: "drain" | "finish" = "drain"): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve();
    const done = () => {
      stream.off(event, done);
      stream.off("close", done);
      resolve();
    };
    stream.on(event, done);
    stream.on("close", done);
  });
}
