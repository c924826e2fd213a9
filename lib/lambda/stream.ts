/** What the runtime uses of the stream that Lambda gives a function to answer by. */
export interface ResponseStream extends NodeJS.EventEmitter {
  readonly destroyed: boolean;
  write(chunk: Uint8Array | string): boolean;
  end(): void;
}

/** What Lambda's Node runtime offers under the name `awslambda`. */
interface StreamingPlatform {
  streamifyResponse<F extends (event: never, stream: ResponseStream) => Promise<void>>(answer: F): F;
  readonly HttpResponseStream: {
    /** Puts status and headers before the first byte of the body. */
    from(stream: ResponseStream, metadata: object): ResponseStream;
  };
}

/** The platform that this process runs on; outside Lambda, one that leaves functions as they are. */
export function streamingPlatform(): StreamingPlatform {
  // The vendor's client makes an empty object of this name wherever it runs, so its being there says nothing.
  const { awslambda = {} } = globalThis as { awslambda?: Partial<StreamingPlatform> };
  return { ...NO_PLATFORM, ...awslambda };
}

const NO_PLATFORM: StreamingPlatform = {
  streamifyResponse: (answer) => answer,
  HttpResponseStream: { from: (stream) => stream },
};

/**
 * Sends a body as its reader takes it. One that breaks off rejects and leaves the stream open, which makes the
 * runtime report the error and cut the answer; a reader that leaves ends the reading.
 */
export async function sendBody(
  body: ReadableStream<Uint8Array> | null,
  stream: ResponseStream,
  onFirstByte: () => void,
): Promise<void> {
  // An answer without a single byte hangs on this path.
  const source = body ?? ReadableStream.from([NEW_LINE]);
  let begun = false;
  for await (const chunk of source) {
    if (!begun) onFirstByte();
    begun = true;
    if (!stream.write(chunk) && !stream.destroyed) await waitForDrain(stream);
    // Leaving the loop cancels the source.
    if (stream.destroyed) return;
  }
  stream.end();
}

/** Waits until the reader has taken what was written, or has left. */
function waitForDrain(stream: ResponseStream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done).off("close", done);
      resolve();
    };
    stream.on("drain", done).on("close", done);
  });
}

const NEW_LINE = new Uint8Array([0x0a]);
