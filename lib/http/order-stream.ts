import type { OrderPage } from "../orders/order-store.ts";

/** How a streamed body ended: sent whole, left by its reader, or broken by the store. */
export type StreamEnd =
  | { readonly status: "complete" | "cancelled" }
  | { readonly status: "failed"; readonly error: unknown };

/** The list of all orders as a body: one text where a page holds them all, otherwise a stream. */
export interface OrderList {
  readonly body: string | ReadableStream<Uint8Array>;
  /** Resolves when nothing more will be sent. */
  readonly ended: Promise<StreamEnd>;
}

/**
 * Writes pages of records as one JSON array. Resolves when the first page is in hand, so that a store that is
 * down rejects here and not in the middle of an answer; one that fails later leaves the array unclosed. A page is
 * read when the consumer asks for it, and a consumer that leaves ends the reading.
 */
export async function orderList(list: AsyncIterable<OrderPage>): Promise<OrderList> {
  const pages = list[Symbol.asyncIterator]();
  const first = await next(pages);
  const { promise: ended, resolve: end } = Promise.withResolvers<StreamEnd>();
  if (first.last) {
    await pages.return?.();
    end({ status: "complete" });
    return { body: `[${first.json}]`, ended };
  }

  let opening: OrderPage | undefined = first;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const head = opening === undefined ? COMMA : OPENING;
          const { json: rows, last } = opening ?? (await next(pages));
          opening = undefined;
          controller.enqueue(chunkOf(head, rows, last));
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

const [COMMA, OPENING, CLOSING] = [0x2c, 0x5b, 0x5d];
const encoder = new TextEncoder();

/**
 * A page as bytes. It is written into its place at once: putting the strings together first would copy each page once
 * more, a quarter of the memory that a long list takes. Records are ASCII, so a character is a byte.
 */
function chunkOf(head: number, rows: string, last: boolean): Uint8Array {
  const begin = rows === "" ? 0 : 1;
  const chunk = new Uint8Array(begin + rows.length + (last ? 1 : 0));
  if (begin === 1) chunk[0] = head;
  encoder.encodeInto(rows, chunk.subarray(begin));
  if (last) chunk[chunk.length - 1] = CLOSING;
  return chunk;
}

async function next(pages: AsyncIterator<OrderPage>): Promise<OrderPage> {
  const { done, value } = await pages.next();
  return done === true ? { json: "", last: true } : value;
}

/** Lets the event loop turn. A fast reader on a fast store would otherwise starve every other request. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
