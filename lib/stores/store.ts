import type { AccountStore } from "../accounts/account-store.ts";
import type { OrderStore, Outbox } from "../orders/order-store.ts";

export { MAX_STORE_CALL_MS } from "../core/time.ts";

/** Makes the methods of a store's own orders read-only: an admission would not call one that replaces another. */
export function withReadOnlyMethods<Orders extends OrderStore>(orders: Orders): Orders {
  // Configurable, so that a proxy can still return a wrapper of each.
  for (const name of Object.keys(orders)) Object.defineProperty(orders, name, { writable: false });
  return orders;
}

/** A store: orders and accounts in one database. To write your own, see lib/stores/README.md#write-your-own-store. */
export interface Store {
  readonly orders: OrderStore;
  readonly accounts: AccountStore;
  /** The changes that wait to be delivered. A store without one cannot be passed to `deliverChanges`. */
  readonly outbox?: Outbox;
  /**
   * Rejects with `StoreUnavailableError` unless a write would succeed now and the layout of the database is the one that
   * this program knows. Changes nothing that any other method returns.
   */
  check(): Promise<void>;
  /** Finishes pending calls and closes the database. */
  close(): Promise<void>;
}
