import type { Instant } from "../clock.ts";
import type { Failure } from "../errors.ts";
import type { OrderRecord } from "./order.ts";

/**
 * The order state machine: what each event does to an order with each status. `to` is the next status, `set` the field
 * of the record that the event changes, `error` the error code if the event is not allowed. `fulfil` leads back to
 * `shipped`, so it can be repeated. See lib/README.md#orders.
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

type Rule = { readonly to: string; readonly set?: "shipDate" | "complete" } | { readonly error: string };

/**
 * The status of an order. It is stored beside the record. The API never returns it, because its order has five fields
 * and no others; there, only the error codes of a cancel depend on it.
 */
export type OrderStatus = keyof typeof LIFECYCLE;

/** An event that can happen to an order. */
export type OrderEvent = keyof (typeof LIFECYCLE)[OrderStatus];

/** The codes with which an event can fail. */
export type TransitionErrorCode<E extends OrderEvent = OrderEvent> = Extract<
  { [S in OrderStatus]: (typeof LIFECYCLE)[S][E] }[OrderStatus],
  { readonly error: string }
>["error"];

/** An order as a store keeps it. */
export interface StoredOrder {
  readonly record: OrderRecord;
  readonly status: OrderStatus;
}

/** The error of an event that the order's status does not allow. */
export interface TransitionError<E extends OrderEvent = OrderEvent> extends Failure<TransitionErrorCode<E>> {
  /** The status of the order, which has not changed. */
  readonly status: OrderStatus;
  readonly event: E;
}

/** The result of an event: the changed order, or why nothing changed. */
export type TransitionResult<E extends OrderEvent = OrderEvent> =
  | { readonly ok: true; readonly order: StoredOrder }
  | TransitionError<E>;

/** Every status, in lifecycle order. */
export const ORDER_STATUSES = Object.keys(LIFECYCLE) as readonly OrderStatus[];

/** True for a status of the lifecycle. A database that somebody has edited can hold another one. */
export function isOrderStatus(status: string): status is OrderStatus {
  return Object.hasOwn(LIFECYCLE, status);
}

/** True if an order with this status accepts the event. */
export function acceptsEvent(status: OrderStatus, event: OrderEvent): boolean {
  return isOrderStatus(status) && "to" in LIFECYCLE[status][event];
}

/** Applies an event to an order at an instant. Pure: nothing is stored. */
export function transition<E extends OrderEvent>(
  order: StoredOrder,
  event: E,
  at: Instant,
): TransitionResult<E>;
export function transition(order: StoredOrder, event: OrderEvent, at: Instant): TransitionResult {
  const { record, status } = order;
  const rule = LIFECYCLE[status][event];
  if ("error" in rule) return { ok: false, code: rule.error, status, event };
  return {
    ok: true,
    order: { record: "set" in rule ? setField(record, rule.set, at) : record, status: rule.to },
  };
}

function setField(record: OrderRecord, field: "shipDate" | "complete", at: Instant): OrderRecord {
  switch (field) {
    case "shipDate":
      return { ...record, shipDate: new Date(at).toISOString() };
    case "complete":
      return { ...record, complete: true };
  }
}

/** Explains in one sentence why an event is not allowed. */
export function explainTransitionError({ status, event }: TransitionError): string {
  const allowed = ORDER_STATUSES.filter((candidate) => acceptsEvent(candidate, event));
  return `The order is ${status}; only ${allowed.join(" or ")} orders accept '${event}'.`;
}
