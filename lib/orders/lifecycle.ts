import { type Failure, invalidInput } from "../core/errors.ts";
import { assertInstant, type Instant } from "../core/time.ts";
import type { OrderRecord } from "./order.ts";

const alreadyShipped = { error: "order_already_shipped" } as const;
const alreadyCancelled = { error: "order_already_cancelled" } as const;

/**
 * The order state machine: what each event does to an order with each status. `to` is the next status, `set` the field
 * of the record that changes, `error` the code if the event is not allowed. See lib/README.md#orders.
 */
export const LIFECYCLE = {
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
} as const satisfies Record<string, Record<string, Rule>>;

type Rule<Status = string, Code = string> =
  | { readonly error?: undefined; readonly to: Status; readonly set?: "shipDate" | "complete" }
  | { readonly error: Code; readonly to?: undefined; readonly set?: undefined };

/** The status of an order, stored beside the record. The API never returns it. */
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
export const ORDER_STATUSES = /* @__PURE__ */ Object.keys(LIFECYCLE) as readonly OrderStatus[];

/** Every event. */
export const ORDER_EVENTS = /* @__PURE__ */ eventsOf("pending");

function eventsOf(status: OrderStatus): readonly OrderEvent[] {
  return Object.keys(LIFECYCLE[status]) as OrderEvent[];
}

/** True for a status of the lifecycle. A database that somebody has edited can hold another one. */
export function isOrderStatus(status: unknown): status is OrderStatus {
  return (ORDER_STATUSES as readonly unknown[]).includes(status);
}

/** True for an event of the lifecycle. */
export function isOrderEvent(event: unknown): event is OrderEvent {
  return (ORDER_EVENTS as readonly unknown[]).includes(event);
}

/** True if an order with this status accepts the event. False for a status or an event that the lifecycle does not have. */
export function acceptsEvent(status: OrderStatus, event: OrderEvent): boolean {
  return isOrderStatus(status) && isOrderEvent(event) && "to" in LIFECYCLE[status][event];
}

/** True for an event that sets a field of the record, false for one that changes the status only. */
export function changesRecord(event: OrderEvent): boolean {
  return isOrderEvent(event) && ORDER_STATUSES.some((status) => "set" in LIFECYCLE[status][event]);
}

/** The codes with which an event can fail, each once. */
export function transitionErrorsOf<E extends OrderEvent>(event: E): readonly TransitionErrorCode<E>[] {
  const rules: readonly Rule[] = ORDER_STATUSES.map((status) => LIFECYCLE[status][event]);
  return [...new Set(rules.flatMap(({ error = [] }) => error))] as TransitionErrorCode<E>[];
}

/** Says why no event leads to a complete order with this status. `undefined` if one does, or the order is not complete. */
export function findStatusProblem({ record, status }: StoredOrder): string | undefined {
  const canBeFulfilled = isOrderStatus(status) && acceptsEvent(status, "fulfil");
  if (record.complete !== true || canBeFulfilled) return undefined;
  return `The order is complete and ${status}, which cannot be: only shipped orders are fulfilled.`;
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

/** Throws `InvalidInputError`, which lists the events, unless the lifecycle has this one. */
export function assertOrderEvent(event: OrderEvent): void {
  lookUp(LIFECYCLE.pending, event, "event");
}

/** The value of a key. Throws `InvalidInputError`, which lists the keys, unless the table has it. */
function lookUp<Table extends object, Key extends keyof Table>(
  table: Table,
  key: Key,
  path: string,
): Table[Key] {
  const keys: readonly unknown[] = Object.keys(table);
  if (!keys.includes(key)) throw invalidInput(path, `Use one of: ${keys.join(", ")}.`);
  return table[key];
}

/** Applies an event to an order at an instant. Pure. Throws `InvalidInputError` if there is no such event or status. */
export function transition<E extends OrderEvent>(
  order: StoredOrder,
  event: E,
  at: Instant,
): TransitionResult<E>;
export function transition(
  { record, status }: StoredOrder,
  event: OrderEvent,
  at: Instant,
): TransitionResult {
  const { error, to, set }: Rule<OrderStatus, TransitionErrorCode> = lookUp(
    lookUp(LIFECYCLE, status, "status"),
    event,
    "event",
  );
  if (error) return { ok: false, code: error, status, event };
  const changed = set ? { ...record, [set]: set === "complete" || shipDateAt(at) } : record;
  return { ok: true, order: { record: changed, status: to } };
}

/** The ship date of an event. */
function shipDateAt(at: Instant): string {
  return new Date(assertInstant(at, "at")).toISOString();
}

/** Explains in one sentence why an event is not allowed. */
export function explainTransitionError({ status, event }: TransitionError): string {
  const allowed = ORDER_STATUSES.filter((candidate) => acceptsEvent(candidate, event));
  return `The order is ${status}; only ${allowed.join(" or ")} orders accept '${event}'.`;
}

/** Applies `transition` to an order from a database. Throws, with what to do, if no rule knows its status. */
export function transitionStoredOrder<E extends OrderEvent>(
  order: StoredOrder,
  event: E,
  at: Instant,
): TransitionResult<E> {
  if (isOrderStatus(order.status)) return transition(order, event, at);
  throw new Error(explainUnknownStatus(order));
}

/** Says what is wrong with a status that no rule knows, and what to do. */
export function explainUnknownStatus({ record, status }: StoredOrder): string {
  const known = ORDER_STATUSES.join(", ");
  return `Order ${record.id} has the status '${status}', which is not one of ${known}. Correct it in the database.`;
}
