import { nextTurn } from "../core/time.ts";
import type { OrderPage } from "../orders/order-store.ts";
import type { StoreOutcome } from "../orders/store-operation.ts";
import type { StreamEnd, TextReader } from "./reply.ts";

/**
 * Writes pages as one JSON array: a string if there is only one, otherwise a stream. Resolves when the first page with
 * records has been read, so that a failure until then can be an error response; after one later, the array stays open.
 */
export async function orderList(
  outcome: Extract<StoreOutcome, { readonly type: "list" }>,
): Promise<{ readonly body: string | TextReader; readonly ended: Promise<StreamEnd> }> {
  const pages = outcome.rest[Symbol.asyncIterator]();
  const { json, last } = outcome.first;
  const first = json !== "" || last ? { json, last } : await nextPage(pages);
  const { promise: ended, resolve: end } = Promise.withResolvers<StreamEnd>();
  if (!first.last) return { body: joinPages(first, pages, end), ended };
  void stopReading(pages);
  end({ status: "complete" });
  return { body: `[${first.json}]`, ended };
}

/** One JSON array, a page at a time. Cancelling it does not wait for the store. */
function joinPages(
  first: OrderPage,
  pages: AsyncIterator<OrderPage>,
  end: (end: StreamEnd) => void,
): TextReader {
  let unsent: OrderPage | undefined = first;
  let isLast = false;
  let isOver = false;
  const finish = (how: StreamEnd) => {
    if (isOver) return;
    isOver = true;
    end(how);
    void stopReading(pages);
  };

  return {
    async read() {
      if (isLast) finish({ status: "complete" });
      else if (unsent === undefined) await nextTurn();
      if (isOver) return { done: true };
      try {
        const opening = unsent === undefined ? "," : "[";
        const { json, last } = unsent ?? (await nextPage(pages));
        // No page is kept in memory while the client receives it.
        unsent = undefined;
        isLast = last;
        const value = json === "" ? [] : [opening, json];
        if (last) value.push("]");
        return { done: false, value };
      } catch (error) {
        finish({ status: "failed", error });
        throw error;
      }
    },
    cancel: async () => finish({ status: "cancelled" }),
  };
}

async function nextPage(pages: AsyncIterator<OrderPage>): Promise<OrderPage> {
  for (;;) {
    const { done, value } = await pages.next();
    if (done === true) return { json: "", last: true };
    if (value.json !== "" || value.last) return value;
  }
}

/** Releases what the store holds for the list. No response waits for it, and if it fails, the pages are what they are. */
async function stopReading(pages: AsyncIterator<OrderPage>): Promise<void> {
  try {
    await pages.return?.();
  } catch {}
}
