import type { OrderRecord } from "../orders/order.ts";
import { IncompleteListError, MalformedListError } from "./client-errors.ts";
import { createOrderParser } from "./order-parser.ts";
import { abortable, type Sleep, startTimeLimit } from "./time-limit.ts";

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

/**
 * Yields the orders of a body while it arrives. Throws `IncompleteListError` if it ends early, `MalformedListError` if
 * it is not a list of orders, `TimeoutError` if it stalls. The connection is closed if the caller stops reading.
 */
export async function* readOrders(
  { firstChunk, reader }: OpenedBody,
  { sleep, idleTimeoutMs, signal }: { sleep: Sleep; idleTimeoutMs: number; signal: AbortSignal },
): AsyncGenerator<OrderRecord, void, undefined> {
  const parser = createOrderParser();
  const decoder = new TextDecoder("utf-8", { fatal: true });

  async function readChunk(): Promise<Uint8Array | undefined> {
    const limit = startTimeLimit(sleep, "idle", idleTimeoutMs, signal);
    try {
      return (await abortable(reader.read(), limit.signal)).value;
    } catch (cause) {
      limit.signal.throwIfAborted();
      throw new IncompleteListError("The connection failed before the end of the list.", { cause });
    } finally {
      limit.release();
    }
  }

  function decode(chunk: Uint8Array): string {
    try {
      return decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw new MalformedListError("The list is not valid UTF-8.", { cause });
    }
  }

  try {
    for (let chunk = firstChunk; chunk !== undefined; chunk = await readChunk()) {
      for (const order of parser.push(decode(chunk))) {
        yield order;
        signal.throwIfAborted();
      }
    }
    parser.end();
  } finally {
    cancelBody(reader);
  }
}

/** Not awaited: a source that never settles must not block the caller. */
function cancelBody(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  reader.cancel().catch(() => {});
}
