import type { Instant } from "../clock.ts";
import type { OrderEvent, Transition } from "./lifecycle.ts";
import type { StoredOrder } from "./order.ts";

/** What became of an order that was to be placed: an order is never overwritten. */
export type PlaceOutcome = "placed" | "unchanged" | "conflict";

/** A part of the list of all orders. */
export interface OrderPage {
  /** Records in wire form, ascending by identifier, separated by commas; a last page may be empty. */
  readonly json: string;
  /** True where nothing follows. */
  readonly last: boolean;
}

/**
 * Where orders are kept. Every change is atomic per order, across all processes on the same database, and
 * durable when its promise resolves. A store that cannot be asked rejects with `StoreUnavailableError`.
 */
export interface OrderStore {
  /**
   * Adds orders; one outcome each, in their order. `unchanged`: it is there with this very content and status.
   * `conflict`: it is there with another. Orders are independent: a conflict does not stop the others.
   */
  place(orders: readonly StoredOrder[]): Promise<readonly PlaceOutcome[]>;

  /** The order as it is now. `undefined`: no such order. */
  find(id: bigint): Promise<StoredOrder | undefined>;

  /** Applies `transition`. Of events that race, each sees what the one before it left. `undefined`: no such order. */
  apply(id: bigint, event: OrderEvent, at: Instant): Promise<Transition | undefined>;

  /**
   * Every record, ascending, in pages that are read as they are asked for. There is at least one page. An order
   * that is there throughout is listed exactly once.
   */
  list(): AsyncIterable<OrderPage>;

  /** Every order with its status, ascending, from the first one above `after`, in pages read as they are asked for. */
  scan(after?: bigint): AsyncIterable<readonly StoredOrder[]>;
}
