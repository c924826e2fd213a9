import type { Instant } from "../clock.ts";
import type { Failure } from "../errors.ts";
import type { OrderEvent, StoredOrder, TransitionResult } from "./lifecycle.ts";

/** The outcome of placing one order. See `OrderStore.place`. */
export type PlaceOutcome = "placed" | "unchanged" | "conflict";

/** The result of applying an event to a stored order. */
export type ApplyResult<E extends OrderEvent = OrderEvent> = TransitionResult<E> | Failure<"order_not_found">;

/** One page of the list of all orders. */
export interface OrderPage {
  /** Serialised records (see `toWire`), ascending by identifier, separated by commas. A page may be empty. */
  readonly json: string;
  /** True for the last page. */
  readonly last: boolean;
}

/**
 * Where orders are stored. Every change is atomic per order, across all processes that share the database, and durable
 * when its promise resolves. A method rejects with `StoreUnavailableError` if the store cannot be reached.
 */
export interface OrderStore {
  /**
   * Adds orders, never overwrites one, and returns one outcome for each in the given sequence. `unchanged`: the order
   * already exists with the same record and status. `conflict`: it exists with others. A conflict does not affect the
   * other orders.
   */
  place(orders: readonly StoredOrder[]): Promise<readonly PlaceOutcome[]>;

  /** Returns the order, or `undefined` if there is none. */
  find(id: bigint): Promise<StoredOrder | undefined>;

  /** Applies `transition` to the stored order. Concurrent events on one order are applied one after another. */
  apply<E extends OrderEvent>(id: bigint, event: E, at: Instant): Promise<ApplyResult<E>>;

  /**
   * Lists every record, ascending by identifier, in pages that are read on demand. There is at least one page. An order
   * that exists during the whole iteration is listed exactly once.
   */
  list(): AsyncIterable<OrderPage>;

  /**
   * Lists every order with its status, ascending by identifier, from the first one above `after`. Pages are read on
   * demand. `limit` is the number of orders that the caller needs: a store should not read many more for them. The
   * iteration does not end there.
   */
  scan(after?: bigint, limit?: number): AsyncIterable<readonly StoredOrder[]>;

  /**
   * Returns a text that is different whenever an order has been added or changed. It may also be different for another
   * reason. A store that would have to read its orders for it does not have this method.
   */
  revision?(): Promise<string>;
}
