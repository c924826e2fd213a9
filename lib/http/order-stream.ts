import type { OrderPage } from "../orders/order-store.ts";

/** How a streamed body ended: completely, cancelled by its consumer, or failed because of a store error. */
export type StreamEnd =
  | { readonly status: "complete" | "cancelled" }
  | { readonly status: "failed"; readonly error: unknown };

/** The list of all orders as a response body: a string if there is only one page, otherwise a stream. */
export interface OrderList {
  readonly body: string | ReadableStream<Uint8Array>;
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
    await pages.return?.();
    end({ status: "complete" });
    return { body: `[${first.json}]`, ended };
  }

  let firstPage: OrderPage | undefined = first;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const separator = firstPage === undefined ? COMMA : OPENING_BRACKET;
          const { json, last } = firstPage ?? (await nextPage(pages));
          firstPage = undefined;
          controller.enqueue(encodePage(separator, json, last));
          if (!last) return await yieldToEventLoop();
          controller.close();
          end({ status: "complete" });
          await pages.return?.();
        } catch (error) {
          end({ status: "failed", error });
          throw error;
        }
      },
      async cancel() {
        end({ status: "cancelled" });
        await pages.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, ended };
}

const [COMMA, OPENING_BRACKET, CLOSING_BRACKET] = [0x2c, 0x5b, 0x5d];
const encoder = new TextEncoder();

/**
 * Encodes a page directly into its final buffer: concatenating strings first would copy each page once more, a quarter
 * of the memory of a long list. Records are ASCII, so a character is a byte.
 */
function encodePage(separator: number, json: string, last: boolean): Uint8Array {
  const start = json === "" ? 0 : 1;
  const chunk = new Uint8Array(start + json.length + (last ? 1 : 0));
  if (start === 1) chunk[0] = separator;
  encoder.encodeInto(json, chunk.subarray(start));
  if (last) chunk[chunk.length - 1] = CLOSING_BRACKET;
  return chunk;
}

async function nextPage(pages: AsyncIterator<OrderPage>): Promise<OrderPage> {
  const { done, value } = await pages.next();
  return done === true ? { json: "", last: true } : value;
}

/** Lets other requests run: a fast store with a fast reader would otherwise never yield. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => schedule(resolve));
}

/** `setImmediate` is not part of the Web standards. */
const schedule: (callback: () => void) => unknown =
  typeof setImmediate === "function" ? setImmediate : (callback) => setTimeout(callback, 0);
