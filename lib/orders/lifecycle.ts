import type { Instant } from "../clock.ts";
import type { OrderRecord } from "./order.ts";

/**
 * The order state machine: what each event does in each state. `to` is the next state, `set` the field of the record
 * that the event changes, `error` the code of the conflict if the event is not allowed. See lib/README.md#orders.
 */
export const LIFECYCLE = {
  pending: {
    cancel: { to: "cancelled" },
    ship: { to: "shipped", set: "shipDate" },
    fulfil: { error: "order_not_shipped" },
  },
  shipped: {
    cancel: { error: "order_already_shipped" },
    ship: { error: "order_already_shipped" },
    fulfil: { to: "shipped", set: "complete" },
  },
  cancelled: {
    cancel: { error: "order_already_cancelled" },
    ship: { error: "order_already_cancelled" },
    fulfil: { error: "order_already_cancelled" },
  },
} as const satisfies Record<string, Record<string, Rule>>;

interface Rule {
  readonly to?: string;
  readonly set?: "shipDate" | "complete";
  readonly error?: string;
}

/** The state of an order. Stored beside the record, never sent. */
export type OrderStatus = keyof typeof LIFECYCLE;

/** An event that can happen to an order. */
export type OrderEvent = keyof (typeof LIFECYCLE)[OrderStatus];

/** The codes with which an event can be rejected. */
export type TransitionErrorCode<E extends OrderEvent = OrderEvent> = Extract<
  { [S in OrderStatus]: (typeof LIFECYCLE)[S][E] }[OrderStatus],
  { readonly error: string }
>["error"];

/** An order as a store keeps it. */
export interface StoredOrder {
  readonly record: OrderRecord;
  readonly status: OrderStatus;
}

/** An event that the order's state does not allow. */
export interface TransitionError<E extends OrderEvent = OrderEvent> {
  readonly ok: false;
  readonly code: TransitionErrorCode<E>;
  /** The state that rejected the event. */
  readonly status: OrderStatus;
  readonly event: E;
}

/** The result of an event: the order in its new state, or why nothing changed. */
export type Transition<E extends OrderEvent = OrderEvent> =
  | { readonly ok: true; readonly order: StoredOrder }
  | TransitionError<E>;

/** Every state, in lifecycle order. */
export const ORDER_STATUSES = Object.keys(LIFECYCLE) as readonly OrderStatus[];

/** Applies an event to an order at an instant. Pure: nothing is stored. */
export function transition<E extends OrderEvent>(order: StoredOrder, event: E, at: Instant): Transition<E> {
  const { record, status } = order;
  const { to, set, error }: Rule = LIFECYCLE[status][event];
  if (error !== undefined) return { ok: false, code: error as TransitionErrorCode<E>, status, event };
  return { ok: true, order: { record: withField(record, set, at), status: to as OrderStatus } };
}

function withField(record: OrderRecord, field: Rule["set"], at: Instant): OrderRecord {
  switch (field) {
    case undefined:
      return record;
    case "shipDate":
      return { ...record, shipDate: new Date(at).toISOString() };
    case "complete":
      return { ...record, complete: true };
  }
}

/** Explains in one sentence why an event was rejected. */
export function explainTransitionError({ status, event }: TransitionError): string {
  const allowed = ORDER_STATUSES.filter((state) => "to" in LIFECYCLE[state][event]);
  return `The order is ${status}; only ${allowed.join(" or ")} orders accept '${event}'.`;
}
