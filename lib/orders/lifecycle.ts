import type { Failure } from "../core/errors.ts";
import { applyRule, defineLifecycle, type Lifecycle, type LifecycleRule } from "../core/lifecycle.ts";
import { assertInstant, type Instant } from "../core/time.ts";
import type { OrderRecord } from "./order.ts";

const alreadyShipped = { error: "order_already_shipped" } as const;
const alreadyCancelled = { error: "order_already_cancelled" } as const;

const ORDER_RULES = {
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
  readonly status: OrderStatus;
  readonly event: E;
}

/** The result of an event: the changed order, or why nothing changed. */
export type TransitionResult<E extends OrderEvent = OrderEvent> =
  | { readonly ok: true; readonly order: StoredOrder }
  | TransitionError<E>;

export function changesRecord(event: OrderEvent): boolean {
  return LIFECYCLE.statuses.some((status) => "set" in ORDER_RULES[status][event]);
}

/** Says why no event leads to a complete order with this status. `undefined` if one does, or the order is not complete. */
export function findStatusProblem({ record, status }: StoredOrder): string | undefined {
  if (record.complete !== true) return undefined;
  const possible = completeStatuses();
  if (possible.has(status)) return undefined;
  return `The order is complete and ${status}, which cannot be: only ${[...possible].join(" and ")} orders can be complete.`;
}

/** Of fulfilled orders, and what further events lead to. A function, so that a bundle can leave the life cycle out. */
function completeStatuses(): ReadonlySet<OrderStatus> {
  const found = new Set(LIFECYCLE.statuses.filter((status) => LIFECYCLE.acceptsEvent(status, "fulfil")));
  // A set is iterated to its end, also over what is added meanwhile.
  for (const status of found)
    for (const rule of Object.values(ORDER_RULES[status])) if ("to" in rule) found.add(rule.to);
  return found;
}

/** Adds up counts by status. Those of a status that no rule knows are left out. */
export function sumByStatus(
  counted: Iterable<readonly [status: unknown, count: number]>,
): Record<OrderStatus, number> {
  const counts: Record<OrderStatus, number> = { pending: 0, shipped: 0, cancelled: 0 };
  for (const [status, count] of counted) if (LIFECYCLE.isStatus(status)) counts[status] += count;
  return counts;
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

export function explainUnknownStatus({ record, status }: StoredOrder): string {
  const known = LIFECYCLE.statuses.join(", ");
  return `Order ${record.id} has the status '${status}', which is not one of ${known}. Correct it in the database, or update this version if a newer one has written it.`;
}

/** `changed` is missing if the event leaves the order as it was. Throws, with what to do, for an unknown status. */
export function decideEvent<E extends OrderEvent>(
  order: StoredOrder,
  event: E,
  at: Instant,
): { readonly result: TransitionResult<E>; readonly changed?: StoredOrder | undefined } {
  if (!LIFECYCLE.isStatus(order.status)) throw new Error(explainUnknownStatus(order));
  const result = transition(order, event, at);
  const isChanged =
    result.ok && (result.order.record !== order.record || result.order.status !== order.status);
  return { result, changed: isChanged ? result.order : undefined };
}

/** The only status in which an event is allowed. A test checks that `LIFECYCLE` has one for each event. */
export function statusBefore(event: OrderEvent): OrderStatus {
  return LIFECYCLE.statuses.find((candidate) => LIFECYCLE.acceptsEvent(candidate, event)) as OrderStatus;
}

export function statusAfter(event: OrderEvent): OrderStatus {
  const rule: LifecycleRule<OrderStatus> = ORDER_RULES[statusBefore(event)][event];
  return rule.to as OrderStatus;
}
