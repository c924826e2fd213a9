import type { Instant } from "../clock.ts";
import type { ErrorCode } from "../errors.ts";
import type { OrderRecord, StoredOrder } from "./order.ts";

/**
 * The order state machine (specification, "States and transitions"; decision 1): for every state, what each
 * event does. `to` is the next state, `set` the field of the record that changes with it, `refused` why not.
 */
export const LIFECYCLE = {
  pending: {
    cancel: { to: "cancelled" },
    ship: { to: "shipped", set: "shipDate" },
    fulfil: { refused: "order_not_shipped" },
  },
  shipped: {
    cancel: { refused: "order_already_shipped" },
    ship: { refused: "order_already_shipped" },
    fulfil: { to: "shipped", set: "complete" },
  },
  cancelled: {
    cancel: { refused: "order_already_cancelled" },
    ship: { refused: "order_already_cancelled" },
    fulfil: { refused: "order_already_cancelled" },
  },
} as const satisfies Record<string, Record<string, Move | Refused>>;

interface Move {
  readonly to: string;
  readonly set?: "shipDate" | "complete";
}

interface Refused {
  readonly refused: ErrorCode;
}

/** A state that an order can be in. Kept by the store, never sent. */
export type OrderStatus = keyof typeof LIFECYCLE;

/** What can happen to an order. */
export type OrderEvent = keyof (typeof LIFECYCLE)[OrderStatus];

/** Why an order did not move. */
export type TransitionErrorCode = Extract<
  { [S in OrderStatus]: (typeof LIFECYCLE)[S][OrderEvent] }[OrderStatus],
  Refused
>["refused"];

/** What became of an event: the order as it is now, or the reason with the state that refused it. */
export type Transition =
  | { readonly moved: true; readonly order: StoredOrder }
  | {
      readonly moved: false;
      readonly refused: TransitionErrorCode;
      readonly status: OrderStatus;
      readonly event: OrderEvent;
    };

/** Every state, in the order of a life. */
export const ORDER_STATUSES = Object.keys(LIFECYCLE) as readonly OrderStatus[];

/** Tells what an event does to an order at an instant. Pure: nothing is stored. */
export function transition(order: StoredOrder, event: OrderEvent, at: Instant): Transition {
  const { record, status } = order;
  const rule: { to: OrderStatus; set?: Move["set"] } | { refused: TransitionErrorCode } =
    LIFECYCLE[status][event];
  if ("refused" in rule) return { moved: false, refused: rule.refused, status, event };
  return {
    moved: true,
    order: { record: changed(record, rule.set, at), status: rule.to },
  };
}

function changed(record: OrderRecord, field: Move["set"], at: Instant): OrderRecord {
  switch (field) {
    case undefined:
      return record;
    case "shipDate":
      return { ...record, shipDate: new Date(at).toISOString() };
    case "complete":
      return { ...record, complete: true };
  }
}

/** Says in a sentence why an order did not move, from the table's own words. */
export function explainTransitionError({ status, event }: Extract<Transition, { moved: false }>): string {
  const moves = ORDER_STATUSES.filter((state) => "to" in LIFECYCLE[state][event]);
  return `The order is ${status}; only ${moves.join(" or ")} orders accept '${event}'.`;
}
