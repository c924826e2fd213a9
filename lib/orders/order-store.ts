import type { Failure } from "../core/errors.ts";
import type { Instant } from "../core/time.ts";
import type { ChangeOrigin, OrderWithHistory } from "./history.ts";
import type { OrderEvent, OrderStatus, StoredOrder, TransitionResult } from "./lifecycle.ts";
import type { OrderQuery, OrderQueryPage } from "./order-query.ts";

/** The outcome of placing one order. See `OrderStore.place`. */
export type PlaceOutcome = "placed" | "unchanged" | "conflict";

/** The result of applying an event to a stored order. */
export type ApplyResult<E extends OrderEvent = OrderEvent> = TransitionResult<E> | Failure<"order_not_found">;

/** One page of the list of all orders. */
export interface OrderPage {
  /** Serialised records (see `orderToJson`), ascending by identifier, separated by commas. A page may be empty. */
  readonly json: string;
  readonly last: boolean;
}

/** The number of orders with each status. */
export type OrderCounts = Readonly<Record<OrderStatus, number>>;

/** An order with changes that have not been delivered. One that cannot be read has a `problem` instead of the `order`. */
export type WaitingOrder = (
  | { readonly order: OrderWithHistory; readonly problem?: undefined }
  | { readonly order?: undefined; readonly problem: string }
) & {
  readonly id: bigint;
  /** The number of its changes that have been delivered. The one that follows is next. */
  readonly delivered: number;
  /** The failed attempts to deliver that change. */
  readonly attempts: number;
  /** The next attempt. Missing while the order is leased, and if the change was set aside. */
  readonly due?: Instant;
  readonly lease?: number;
};

/** An order that nobody gets from `lease`, and the number that the store has for its lease or its next attempt. */
export interface HeldOrder {
  readonly id: bigint;
  readonly hold: number;
}

/** An order of which the first `delivered` changes were delivered by whoever has or had the lease. */
export interface AcknowledgedOrder {
  readonly id: bigint;
  readonly delivered: number;
  readonly lease: number;
}

/** What an outbox has. */
export interface OutboxBacklog {
  /** Orders with changes that are to be delivered, and when the oldest of these changes was made. */
  readonly waiting: number;
  readonly oldest?: Instant;
  readonly failed: number;
}

/**
 * While the outbox is on, each write that changes an order marks it, by whatever process. No clock decides whether a
 * change has been delivered: a mark stays until all of them are.
 */
export interface Outbox {
  /** Records in the database whether writes mark orders. Resolves when those of every process do, or at once if it is so already. */
  switch(on: boolean): Promise<void>;
  isOn(): Promise<boolean>;
  /**
   * Leases at most `limit` orders that are due, the oldest first: no other call gets them until they are released. One
   * that is damaged stops no other. The caller makes up the number of the lease, below zero: a lease has no end by any
   * clock, since those of two hosts differ. A change more than five minutes later than `at` is as old as its lease from
   * then on, so that a backlog that a wrong clock wrote becomes late in time.
   */
  lease(limit: number, at: Instant, lease: number): Promise<readonly WaitingOrder[]>;
  /** Lists at most `limit` orders that are leased, or whose next attempt is after an instant. */
  held(after: Instant, limit: number): Promise<readonly HeldOrder[]>;
  /** Makes held orders due at once, except those whose hold has changed. */
  release(held: readonly HeldOrder[]): Promise<void>;
  /** Orders with more changes become due, the others lose their marks, unless somebody else has leased them. */
  acknowledge(deliveries: readonly AcknowledgedOrder[]): Promise<void>;
  /** Counts a failed attempt, if nobody else has the lease, and sets the next one, or sets the change aside. */
  postpone(id: bigint, lease: number, due: Instant | undefined): Promise<void>;
  /** Lists at most `limit` orders, the oldest first: those that wait, or those that were set aside. Also damaged ones. */
  list(kind: "waiting" | "failed", limit: number): Promise<readonly WaitingOrder[]>;
  /** Makes changes due at once that were set aside, or wait for their next attempt: of one order or of all. Returns their number. */
  retry(id?: bigint): Promise<number>;
  backlog(): Promise<OutboxBacklog>;
}

/** Changes are atomic per order across processes, and durable once resolved. Rejects with `StoreUnavailableError`. */
export interface OrderStore {
  /**
   * One outcome for each order, in their order. None is overwritten: `unchanged` if it exists with the same record and
   * status, `conflict` if with others. The history begins with `place` (a `newChange`) at the instant, by default now.
   */
  place(
    orders: readonly StoredOrder[],
    at?: Instant,
    origin?: ChangeOrigin,
  ): Promise<readonly PlaceOutcome[]>;

  /** Returns the order with its history, or `undefined` if there is none. Rejects if it cannot be read. */
  find(id: bigint): Promise<OrderWithHistory | undefined>;

  /** Applies `transition`, with a `newChange` in the same write unless nothing changes. Concurrent events take turns. */
  apply<E extends OrderEvent>(
    id: bigint,
    event: E,
    at: Instant,
    origin?: ChangeOrigin,
  ): Promise<ApplyResult<E>>;

  /** Ascending by identifier, at least one page. An order that exists during the whole iteration is listed exactly once. */
  list(): AsyncIterable<OrderPage>;

  /**
   * An order that exists during the whole walk and keeps its status is on exactly one page. An unknown status is
   * returned as it is. One that is damaged stops no other. Rejects with `InvalidInputError`; see `validateOrderQuery`.
   */
  page(query: OrderQuery): Promise<OrderQueryPage>;

  /** Counts the orders by status. One with a status that no rule knows is left out. */
  countByStatus(): Promise<OrderCounts>;
}
