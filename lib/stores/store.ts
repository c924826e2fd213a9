import type { AccountStore } from "../accounts/account-store.ts";
import type { OrderStore } from "../orders/order-store.ts";

/** Both ports over one database. */
export interface Store {
  readonly orders: OrderStore;
  readonly accounts: AccountStore;
  /** Finishes what is under way and lets go of the database. */
  close(): Promise<void>;
}
