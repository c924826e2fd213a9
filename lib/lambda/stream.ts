import { waitForDrain } from "../core/concurrency.ts";
import type { WebBody } from "../http/reply.ts";

/** The part of Lambda's response stream that is used. */
export interface ResponseStream extends NodeJS.EventEmitter {
  readonly destroyed: boolean;
  write(chunk: Uint8Array | string): boolean;
  end(): void;
}

interface StreamingPlatform {
  streamifyResponse<F extends (event: never, stream: ResponseStream) => Promise<void>>(handler: F): F;
  readonly HttpResponseStream: {
    from(stream: ResponseStream, metadata: object): ResponseStream;
  };
}

/** The platform of this process. Outside Lambda, it returns functions and streams unchanged. */
export function streamingPlatform(): StreamingPlatform {
  // The AWS client creates an empty object of this name everywhere, so its presence does not indicate Lambda.
  const { awslambda = {} } = globalThis as { awslambda?: Partial<StreamingPlatform> };
  return { ...NO_PLATFORM, ...awslambda };
}

const NO_PLATFORM: StreamingPlatform = {
  streamifyResponse: (handler) => handler,
  HttpResponseStream: { from: (stream) => stream },
};

/** If the body fails, the stream is not ended, so that the response is truncated. See infra/scale.md. */
export async function sendBody(
  body: WebBody | null,
  stream: ResponseStream,
  onFirstByte: () => void,
): Promise<void> {
  const reader = (
    body instanceof ReadableStream ? body : ReadableStream.from(body ? [body] : [])
  ).getReader();
  const stop = () => void reader.cancel().catch(() => {});
  stream.once("close", stop);
  stream.on("error", stop);
  try {
    for (let isFirst = true; ; isFirst = false) {
      // A response without a single byte hangs on Lambda's streaming path.
      const { done, value = NEWLINE } = await reader.read();
      if (stream.destroyed) return;
      if (done && !isFirst) break;
      if (isFirst) onFirstByte();
      if (!stream.write(value)) await waitForDrain(stream);
    }
    stream.end();
  } finally {
    stream.off("close", stop);
    // Wherever it ended early, the body is no longer read.
    stop();
  }
}

const NEWLINE = new Uint8Array([0x0a]);
