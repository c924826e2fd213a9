import type { Instant } from "../core/time.ts";
import type { ChangeOrigin } from "./history.ts";
import type { OrderEvent } from "./lifecycle.ts";
import type { ApplyResult, OrderPage, OrderStore } from "./order-store.ts";

/** The part of an admitted request in the store, which a store can perform in the admission's transaction. */
export type StoreOperation = (
  | { readonly type: "apply"; readonly id: bigint; readonly event: OrderEvent }
  | { readonly type: "list" }
) & {
  readonly requestId?: string;
};

/** The outcome of a `StoreOperation`. That of a list is its first page, and the pages that follow. */
export type StoreOutcome =
  | { readonly type: "apply"; readonly result: ApplyResult }
  | { readonly type: "list"; readonly first: OrderPage; readonly rest: AsyncIterable<OrderPage> };

/** Performs an operation outside of any other transaction. */
export async function performStoreOperation(
  orders: Pick<OrderStore, "apply" | "list">,
  operation: StoreOperation,
  at: Instant,
  origin?: ChangeOrigin,
): Promise<StoreOutcome> {
  if (operation.type === "apply")
    return { type: "apply", result: await orders.apply(operation.id, operation.event, at, origin) };
  const pages = orders.list()[Symbol.asyncIterator]();
  const { done, value } = await pages.next();
  const first = done === true ? { json: "", last: true } : value;
  return { type: "list", first, rest: { [Symbol.asyncIterator]: () => pages } };
}
