import { expect, test } from "vitest";
import { EVENT_LETTERS } from "../../lib/orders/history.ts";
import {
  findStatusProblem,
  LIFECYCLE,
  type OrderEvent,
  type StoredOrder,
  transition,
} from "../../lib/orders/lifecycle.ts";
import { parseLine, toLine } from "../../lib/orders/wire.ts";

const AT = Date.UTC(2026, 10, 20, 9, 30);

interface Way {
  readonly events: readonly OrderEvent[];
  readonly order: StoredOrder;
}

/** Every way of an order: the events that can follow each other, none of them twice. */
function waysFrom(order: StoredOrder, before: readonly OrderEvent[] = []): readonly Way[] {
  const possible = LIFECYCLE.events.filter(
    (event) => LIFECYCLE.acceptsEvent(order.status, event) && !before.includes(event),
  );
  return possible.flatMap((event) => {
    const result = transition(order, event, AT);
    const events = [...before, event];
    return result.ok ? [{ events, order: result.order }, ...waysFrom(result.order, events)] : [];
  });
}

const ways = waysFrom({ record: { id: 7n }, status: "pending" });

test.each(ways)("an order after $events has no problem, and an import reads its export", ({ order }) => {
  expect(findStatusProblem(order)).toBeUndefined();
  expect(parseLine(toLine(order))).toEqual({ ok: true, order });
});

test.each(ways)("the letters of $events are in the order of the changes", ({ events }) => {
  const order: readonly string[] = Object.keys(EVENT_LETTERS);
  const places = ["place", ...events].map((event) => order.indexOf(event));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});
