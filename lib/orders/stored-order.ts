import type { Instant } from "../clock.ts";
import {
  isOrderStatus,
  ORDER_STATUSES,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
  type TransitionResult,
  transition,
} from "./lifecycle.ts";
import { fromWire } from "./wire.ts";

/**
 * Reads an order as a database keeps it. A status that somebody else has written there is returned as it is, so that
 * one order does not fail a list. Throws if the record cannot be read.
 */
export function readStoredOrder(wire: string, status: string): StoredOrder {
  try {
    return { record: fromWire(wire), status: status as OrderStatus };
  } catch (cause) {
    throw new Error(`The record of an order is damaged: ${wire.slice(0, MAX_SHOWN_CHARS)}`, { cause });
  }
}

const MAX_SHOWN_CHARS = 80;

/** Applies `transition` to such an order. Throws if no rule knows its status. */
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
  return `Order ${record.id} has the status '${status}', which is none of ${known}. Correct it in the database.`;
}
