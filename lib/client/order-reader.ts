import type { OrderRecord } from "../orders/order.ts";
import { IncompleteListError, MalformedListError } from "./client-errors.ts";
import { createOrderParser } from "./order-parser.ts";
import { abortable, type Sleep, startLimit } from "./time-limit.ts";

/** A body of which the first piece is in hand. */
export interface OpenedBody {
  /** Absent where there is none. */
  readonly first: Uint8Array | undefined;
  readonly rest: ReadableStreamDefaultReader<Uint8Array>;
}

/** Takes the first piece of a body, so that a connection that breaks before it can still be tried again. */
export async function openBody(response: Response, signal: AbortSignal): Promise<OpenedBody> {
  const rest = (response.body ?? new Blob([]).stream()).getReader();
  try {
    return { first: (await abortable(rest.read(), signal)).value, rest };
  } catch (error) {
    leave(rest);
    throw error;
  }
}

/**
 * Reads orders off a body as it comes. Throws `IncompleteListError` where it breaks off, `MalformedListError` where it
 * is no list, `TimeoutError` where nothing more comes for too long. Who stops reading closes the connection.
 */
export async function* readOrders(
  { first, rest }: OpenedBody,
  { sleep, idleTimeoutMs, signal }: { sleep: Sleep; idleTimeoutMs: number; signal: AbortSignal },
): AsyncGenerator<OrderRecord, void, undefined> {
  const parser = createOrderParser();
  const decoder = new TextDecoder("utf-8", { fatal: true });

  async function next(): Promise<Uint8Array | undefined> {
    const limit = startLimit(sleep, "idle", idleTimeoutMs, signal);
    try {
      return (await abortable(rest.read(), limit.signal)).value;
    } catch (cause) {
      limit.signal.throwIfAborted();
      throw new IncompleteListError("The connection broke in the middle of the list.", { cause });
    } finally {
      limit.release();
    }
  }

  function decoded(piece: Uint8Array): string {
    try {
      return decoder.decode(piece, { stream: true });
    } catch (cause) {
      throw new MalformedListError("The list is not UTF-8.", { cause });
    }
  }

  try {
    for (let piece = first; piece !== undefined; piece = await next()) {
      for (const order of parser.push(decoded(piece))) {
        yield order;
        signal.throwIfAborted();
      }
    }
    parser.end();
  } finally {
    leave(rest);
  }
}

/** Lets go of a body; whether its source takes notice is not waited for. */
function leave(rest: ReadableStreamDefaultReader<Uint8Array>): void {
  rest.cancel().catch(() => {});
}
