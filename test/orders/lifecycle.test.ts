import { expect, test } from "vitest";
import {
  decideEvent,
  LIFECYCLE,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
  transition,
} from "../../lib/orders/lifecycle.ts";

const AT = Date.UTC(2026, 10, 20, 9, 30);
const record = { id: 7n, petId: 1n, shipDate: "2027-01-01T00:00:00Z" };
const shipped = { ...record, shipDate: "2026-11-20T09:30:00.000Z" };

test("a clock in microseconds is an error, not an order that no client can read", () => {
  const order: StoredOrder = { record, status: "pending" };
  expect(() => transition(order, "ship", AT * 1000)).toThrow(/^at: It is \d+\. Use whole milliseconds/);
});

/** The documented table, written independently of the code: one cell for each status and event. */
const cells: Record<OrderStatus, Record<OrderEvent, StoredOrder | string>> = {
  pending: {
    cancel: { record, status: "cancelled" },
    ship: { record: shipped, status: "shipped" },
    fulfil: "order_not_shipped",
  },
  shipped: {
    cancel: "order_already_shipped",
    ship: "order_already_shipped",
    fulfil: { record: { ...record, complete: true }, status: "shipped" },
  },
  cancelled: {
    cancel: "order_already_cancelled",
    ship: "order_already_cancelled",
    fulfil: "order_already_cancelled",
  },
};

const every = Object.entries(cells).flatMap(([status, events]) =>
  Object.entries(events).map(([event, outcome]) => ({ status, event, outcome })),
) as { status: OrderStatus; event: OrderEvent; outcome: StoredOrder | string }[];

test.each(every)("'$event' on a $status order follows the lifecycle table", ({ status, event, outcome }) => {
  const result = transition({ record, status }, event, AT);
  if (typeof outcome === "string") expect(result).toEqual({ ok: false, code: outcome, status, event });
  else expect(result).toEqual({ ok: true, order: outcome });
  expect(LIFECYCLE.acceptsEvent(status, event)).toBe(result.ok);
});

test("the table has exactly the documented statuses and events, each of which is known", () => {
  expect(LIFECYCLE.statuses).toEqual(Object.keys(cells));
  expect(LIFECYCLE.statuses.every(LIFECYCLE.isStatus)).toBe(true);
  for (const status of LIFECYCLE.statuses) {
    expect(Object.keys(LIFECYCLE.table[status])).toEqual(Object.keys(cells[status]));
    expect(Object.keys(LIFECYCLE.table[status])).toEqual(LIFECYCLE.events);
  }
  expect(LIFECYCLE.events.every(LIFECYCLE.isEvent)).toBe(true);
});

test("the explanation of an error names the status, the event and the statuses that accept it", () => {
  expect(LIFECYCLE.explain({ status: "cancelled", event: "ship" })).toBe(
    "The order is cancelled; only pending orders accept 'ship'.",
  );
});

test("an order whose status somebody has edited in the database is an error that says what to do", () => {
  const order = { record, status: "lost" as OrderStatus };
  expect(() => decideEvent(order, "ship", AT)).toThrow(
    `Order 7 has the status 'lost', which is not one of ${LIFECYCLE.statuses.join(", ")}. Correct it in the database, or update this version if a newer one has written it.`,
  );
});

test("fulfilling an order again changes nothing", () => {
  const once = transition({ record: shipped, status: "shipped" }, "fulfil", AT);
  expect(once.ok && transition(once.order, "fulfil", AT + 1)).toEqual(once);
});

/** Names that every object has, and some that none has. */
const UNKNOWN = [
  ...["toString", "constructor", "__proto__", "hasOwnProperty", "lose", "", "Cancel"],
  ...[null, undefined, 7, ["cancel"]],
];

test.each(UNKNOWN)("the event or status %j is an error that lists those of the lifecycle", (unknown) => {
  const pending: StoredOrder = { record, status: "pending" };
  const [event, status] = [unknown as OrderEvent, unknown as OrderStatus];
  expect([LIFECYCLE.isEvent(event), LIFECYCLE.isStatus(status)]).toEqual([false, false]);
  expect([LIFECYCLE.acceptsEvent("pending", event), LIFECYCLE.acceptsEvent(status, "ship")]).toEqual([
    false,
    false,
  ]);
  expect(() => transition(pending, event, AT)).toThrow(
    expect.objectContaining({
      code: "invalid_input",
      message: `event: Use one of: ${LIFECYCLE.events.join(", ")}.`,
    }),
  );
  const message = `status: Use one of: ${LIFECYCLE.statuses.join(", ")}.`;
  expect(() => transition({ record, status }, "ship", AT)).toThrow(
    expect.objectContaining({ code: "invalid_input", message }),
  );
});
