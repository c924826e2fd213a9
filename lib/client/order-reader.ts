import type { OrderRecord } from "../orders/order.ts";
import { IncompleteListError, MalformedListError } from "./client-errors.ts";
import { createOrderParser } from "./order-parser.ts";
import { cancelBody, type OpenedBody } from "./response-body.ts";
import { abortable, type Sleep, startTimeLimit, type TimeLimit } from "./time-limit.ts";

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

  /** Restarted at each order, not at each chunk, so that chunks without an order cannot extend it. */
  let idle: TimeLimit | undefined;

  async function readChunk(): Promise<Uint8Array | undefined> {
    idle ??= startTimeLimit(sleep, "idle", idleTimeoutMs, signal);
    try {
      return (await abortable(reader.read(), idle.signal)).value;
    } catch (cause) {
      idle.signal.throwIfAborted();
      throw new IncompleteListError("The connection failed before the end of the list.", { cause });
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
        idle?.release();
        idle = undefined;
        yield order;
        signal.throwIfAborted();
      }
    }
    parser.end();
  } finally {
    idle?.release();
    cancelBody(reader);
  }
}
