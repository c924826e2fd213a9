import { abortable } from "./time-limit.ts";

/** A body whose first chunk has been read. */
export interface OpenedBody {
  /** `undefined` if the body is empty. */
  readonly firstChunk: Uint8Array | undefined;
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
}

/** Reads the first chunk of a body, so that a connection that fails before it can still be retried. */
export async function openBody(response: Response, signal: AbortSignal): Promise<OpenedBody> {
  const reader = (response.body ?? new Blob([]).stream()).getReader();
  try {
    return { firstChunk: (await abortable(reader.read(), signal)).value, reader };
  } catch (error) {
    cancelBody(reader);
    throw error;
  }
}

/** Reads a body as text, but not more than the given number of bytes. The rest is cancelled. */
export async function readText(response: Response, maxBytes: number, signal: AbortSignal): Promise<string> {
  const { firstChunk, reader } = await openBody(response, signal);
  const decoder = new TextDecoder();
  let text = "";
  let bytesLeft = maxBytes;
  try {
    for (let chunk = firstChunk; chunk !== undefined; ) {
      text += decoder.decode(chunk.subarray(0, bytesLeft), { stream: true });
      bytesLeft -= chunk.length;
      if (bytesLeft <= 0) break;
      chunk = (await abortable(reader.read(), signal)).value;
    }
    return text;
  } finally {
    cancelBody(reader);
  }
}

/** Closes the connection of a body. Not awaited: a source that never settles must not block the caller. */
export function cancelBody(body: ReadableStreamDefaultReader | ReadableStream | null): void {
  body?.cancel().catch(() => {});
}
