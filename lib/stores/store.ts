import type { AccountStore } from "../accounts/account-store.ts";
import type { OrderStore } from "../orders/order-store.ts";

/** A store: orders and accounts in one database. To write your own, see lib/stores/README.md#write-your-own-store. */
export interface Store {
  readonly orders: OrderStore;
  readonly accounts: AccountStore;
  /** Finishes pending calls and closes the database. */
  close(): Promise<void>;
}
