import type { OrderPage } from "../orders/order-store.ts";
import type { TextStream } from "./body.ts";

/** How a streamed body ended: completely, cancelled by its consumer, or failed because of a store error. */
export type StreamEnd =
  | { readonly status: "complete" | "cancelled" }
  | { readonly status: "failed"; readonly error: unknown };

/** The list of all orders as a response body: a string if there is only one page, otherwise a stream. */
export interface OrderList {
  readonly body: string | TextStream;
  /** Resolves when nothing more will be sent. */
  readonly ended: Promise<StreamEnd>;
}

/**
 * Writes pages of records as one JSON array. Resolves when the first page has been read, and rejects if that fails, so
 * that the response can still be an error. If the store fails later, the array is not closed. Pages are read on demand,
 * and no longer once the consumer cancels. See lib/README.md#the-list.
 */
export async function orderList(list: AsyncIterable<OrderPage>): Promise<OrderList> {
  const pages = list[Symbol.asyncIterator]();
  const first = await nextPage(pages);
  const { promise: ended, resolve: end } = Promise.withResolvers<StreamEnd>();
  if (first.last) {
    await stopReading(pages);
    end({ status: "complete" });
    return { body: `[${first.json}]`, ended };
  }
  const body = joinPages(first, pages, end);
  await body.next();
  return { body, ended };
}

/** One JSON array, a page at a time. Call `next` once before use: a generator that has not started has no `finally`. */
async function* joinPages(
  first: OrderPage,
  pages: AsyncIterator<OrderPage>,
  end: (end: StreamEnd) => void,
): TextStream {
  let status: StreamEnd = { status: "cancelled" };
  try {
    yield "";
    yield `[${first.json}`;
    for (let isLast = false; !isLast; ) {
      await yieldToEventLoop();
      const { json, last } = await nextPage(pages);
      isLast = last;
      yield `${json === "" ? "" : ","}${json}${isLast ? "]" : ""}`;
    }
    status = { status: "complete" };
  } catch (error) {
    status = { status: "failed", error };
    throw error;
  } finally {
    end(status);
    await stopReading(pages);
  }
}

async function nextPage(pages: AsyncIterator<OrderPage>): Promise<OrderPage> {
  const { done, value } = await pages.next();
  return done === true ? { json: "", last: true } : value;
}

/** Releases what the store holds for the list. If that fails, the pages are still what they are. */
async function stopReading(pages: AsyncIterator<OrderPage>): Promise<void> {
  try {
    await pages.return?.();
  } catch {}
}

/** Lets other requests run: a fast store with a fast reader would otherwise never yield. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => schedule(resolve));
}

/** `setImmediate` is not part of the Web standards. */
const schedule: (callback: () => void) => unknown =
  typeof setImmediate === "function" ? setImmediate : (callback) => setTimeout(callback, 0);
