import type { Failure } from "../core/errors.ts";
import {
  accepts,
  applyRule,
  assertOneOf,
  codesOf,
  defineLifecycle,
  eventsOf,
  explainRule,
  type Lifecycle,
} from "../core/lifecycle.ts";
import { assertInstant, type Instant } from "../core/time.ts";
import type { OrderRecord } from "./order.ts";

const alreadyShipped = { error: "order_already_shipped" } as const;
const alreadyCancelled = { error: "order_already_cancelled" } as const;

/** The rules of `LIFECYCLE`, for code that a page loads without the rest of it. */
export const ORDER_RULES = {
  pending: {
    cancel: { to: "cancelled" },
    ship: { to: "shipped", set: "shipDate" },
    fulfil: { error: "order_not_shipped" },
  },
  shipped: {
    cancel: alreadyShipped,
    ship: alreadyShipped,
    fulfil: { to: "shipped", set: "complete" },
  },
  cancelled: {
    cancel: alreadyCancelled,
    ship: alreadyCancelled,
    fulfil: alreadyCancelled,
  },
} as const;

/** The order state machine. `set` is the field of the record that an event changes. See lib/README.md#orders. */
export const LIFECYCLE: Lifecycle<typeof ORDER_RULES> = /* @__PURE__ */ defineLifecycle(ORDER_RULES);

/** The status of an order, stored beside the record. The API never returns it. */
export type OrderStatus = keyof typeof ORDER_RULES;

/** An event that can happen to an order. */
export type OrderEvent = { [S in OrderStatus]: keyof (typeof ORDER_RULES)[S] }[OrderStatus];

/** The codes with which an event can fail. */
export type TransitionErrorCode<E extends OrderEvent = OrderEvent> = Extract<
  { [S in OrderStatus]: (typeof ORDER_RULES)[S][E] }[OrderStatus],
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
export const ORDER_STATUSES: readonly OrderStatus[] = /* @__PURE__ */ Object.keys(
  ORDER_RULES,
) as OrderStatus[];

/** Every event. */
export const ORDER_EVENTS: readonly OrderEvent[] = /* @__PURE__ */ eventsOf(ORDER_RULES) as OrderEvent[];

/** True for a status of the lifecycle. A database that somebody has edited can hold another one. */
export function isOrderStatus(status: unknown): status is OrderStatus {
  return ORDER_STATUSES.includes(status as OrderStatus);
}

/** True for an event of the lifecycle. */
export function isOrderEvent(event: unknown): event is OrderEvent {
  return ORDER_EVENTS.includes(event as OrderEvent);
}

/** True if an order with this status accepts the event. False for a status or an event that the lifecycle does not have. */
export function acceptsEvent(status: OrderStatus, event: OrderEvent): boolean {
  return accepts(ORDER_RULES, status, event);
}

/** True for an event that sets a field of the record, false for one that changes the status only. */
export function changesRecord(event: OrderEvent): boolean {
  return isOrderEvent(event) && ORDER_STATUSES.some((status) => "set" in ORDER_RULES[status][event]);
}

/** The codes with which an event can fail, such as for the `errors` of an operation of your own. */
export function transitionErrorsOf<E extends OrderEvent>(event: E): readonly TransitionErrorCode<E>[] {
  return codesOf(ORDER_RULES, event) as TransitionErrorCode<E>[];
}

/** Says why no event leads to a complete order with this status. `undefined` if one does, or the order is not complete. */
export function findStatusProblem({ record, status }: StoredOrder): string | undefined {
  if (record.complete !== true || COMPLETE_STATUSES.has(status)) return undefined;
  return `The order is complete and ${status}, which cannot be: only ${[...COMPLETE_STATUSES].join(" and ")} orders can be complete.`;
}

/** The statuses in which an order is fulfilled, and those to which further events lead. */
const COMPLETE_STATUSES: ReadonlySet<OrderStatus> = /* @__PURE__ */ withNextStatuses(
  /* @__PURE__ */ ORDER_STATUSES.filter((status) => acceptsEvent(status, "fulfil")),
);

function withNextStatuses(statuses: readonly OrderStatus[]): ReadonlySet<OrderStatus> {
  const found = new Set(statuses);
  // A set is iterated to its end, also over what is added meanwhile.
  for (const status of found)
    for (const rule of Object.values(ORDER_RULES[status])) if ("to" in rule) found.add(rule.to);
  return found;
}

/** Adds up counts by status. Those of a status that no rule knows are left out. */
export function sumByStatus(
  counted: Iterable<readonly [status: unknown, count: number]>,
): Record<OrderStatus, number> {
  const counts = Object.fromEntries(ORDER_STATUSES.map((status) => [status, 0])) as Record<
    OrderStatus,
    number
  >;
  for (const [status, count] of counted) if (isOrderStatus(status)) counts[status] += count;
  return counts;
}

export function assertOrderEvent(event: OrderEvent): void {
  assertOneOf(ORDER_EVENTS, event, "event");
}

/** Applies an event to an order at an instant. Pure. Throws `InvalidInputError` if there is no such event or status. */
export function transition<E extends OrderEvent>(
  order: StoredOrder,
  event: E,
  at: Instant,
): TransitionResult<E> {
  const { record, status } = order;
  const result = applyRule(ORDER_RULES, status, event);
  if (!result.ok) return result as object as TransitionError<E>;
  const { to, set } = result as { readonly to: OrderStatus; readonly set?: "shipDate" | "complete" };
  const value = set !== "shipDate" || new Date(assertInstant(at, "at")).toISOString();
  const isSame = set === undefined || record[set] === value;
  return { ok: true, order: { record: isSame ? record : { ...record, [set]: value }, status: to } };
}

/** Explains in one sentence why an event is not allowed. */
export function explainTransitionError({ status, event }: TransitionError): string {
  return explainRule(ORDER_RULES, [status], event);
}

/** Says what is wrong with a status that no rule knows, and what to do. */
export function explainUnknownStatus({ record, status }: StoredOrder): string {
  const known = ORDER_STATUSES.join(", ");
  return `Order ${record.id} has the status '${status}', which is not one of ${known}. Correct it in the database, or update this version if a newer one has written it.`;
}
