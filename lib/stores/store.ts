import type { AccountStore } from "../accounts/account-store.ts";
import type { OrderStore, Outbox } from "../orders/order-store.ts";

export { MAX_STORE_CALL_MS } from "../core/time.ts";

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
