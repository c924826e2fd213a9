import type { OrderRecord } from "../../orders/order.ts";

/** `complete` for people. A field that the record does not have is a dash, like every other one. */
export function formatComplete({ complete }: OrderRecord): string {
  if (complete === undefined) return "–";
  return complete ? "yes" : "no";
}
