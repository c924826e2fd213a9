/** What the stores read in the same way, whatever their database. Each row on its own: one that is damaged hides no other. */
import { errorMessage } from "../core/errors.ts";
import type { OrderWithHistory } from "../orders/history.ts";
import type { StoredOrder } from "../orders/lifecycle.ts";
import type { DamagedOrder, OrderQueryPage } from "../orders/order-query.ts";
import type { WaitingOrder } from "../orders/order-store.ts";
import { readStoredOrder } from "../orders/wire.ts";

/** The time at which a change that was set aside is due. Below zero is a lease. */
export const NEVER = Number.MAX_SAFE_INTEGER;

export function readOrders(
  rows: readonly (readonly [id: bigint, status: string, wire: string])[],
): Pick<OrderQueryPage, "orders" | "damaged"> {
  const orders: StoredOrder[] = [];
  const damaged: DamagedOrder[] = [];
  for (const [id, status, wire] of rows) {
    try {
      orders.push(readStoredOrder(id, wire, status));
    } catch (error) {
      damaged.push({ id, problem: errorMessage(error) });
    }
  }
  return damaged.length === 0 ? { orders } : { orders, damaged };
}

/** Reads an order that waits. `due` is what the store has for its lease or its next attempt. */
export function readWaitingOrder(
  id: bigint,
  { due, ...rest }: Pick<WaitingOrder, "delivered" | "attempts"> & { readonly due: number },
  read: () => OrderWithHistory,
): WaitingOrder {
  const waiting = { id, ...rest, ...(due < 0 ? { lease: due } : due < NEVER && { due }) };
  try {
    return { ...waiting, order: read() };
  } catch (error) {
    return { ...waiting, problem: errorMessage(error) };
  }
}
