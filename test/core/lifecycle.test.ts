import { describe, expect, expectTypeOf, test } from "vitest";
import { isInvalidInput } from "../../lib/core/errors.ts";
import { defineLifecycle, type EventOf, type StatusOf } from "../../lib/core/lifecycle.ts";

const shop = defineLifecycle({
  new: { pay: { to: "paid" }, cancel: { to: "cancelled" } },
  paid: { pack: { to: "packed" }, cancel: { to: "cancelled", refund: true } },
  packed: { ship: { to: "shipped" }, cancel: { error: "already_packed" } },
  shipped: { return: { to: "returned" }, cancel: { error: "already_packed" } },
  returned: {},
  cancelled: {},
});
type Status = StatusOf<typeof shop>;
type Event = EventOf<typeof shop>;

/** What is expected of each status and event, written independently of the table: the next status or the code. */
const CELLS: Record<Status, Record<Event, string>> = {
  new: {
    ...{ pay: "paid", cancel: "cancelled", pack: "cannot_pack_new", ship: "cannot_ship_new" },
    return: "cannot_return_new",
  },
  paid: {
    ...{ pay: "cannot_pay_paid", cancel: "cancelled", pack: "packed", ship: "cannot_ship_paid" },
    return: "cannot_return_paid",
  },
  packed: {
    ...{ pay: "cannot_pay_packed", cancel: "already_packed", pack: "cannot_pack_packed", ship: "shipped" },
    return: "cannot_return_packed",
  },
  shipped: {
    ...{ pay: "cannot_pay_shipped", cancel: "already_packed", pack: "cannot_pack_shipped" },
    ...{ ship: "cannot_ship_shipped", return: "returned" },
  },
  returned: {
    ...{ pay: "cannot_pay_returned", cancel: "cannot_cancel_returned", pack: "cannot_pack_returned" },
    ...{ ship: "cannot_ship_returned", return: "cannot_return_returned" },
  },
  cancelled: {
    ...{ pay: "cannot_pay_cancelled", cancel: "cannot_cancel_cancelled", pack: "cannot_pack_cancelled" },
    ...{ ship: "cannot_ship_cancelled", return: "cannot_return_cancelled" },
  },
};

describe("a life cycle of one's own", () => {
  test.each(shop.statuses.flatMap((status) => shop.events.map((event) => ({ status, event }))))(
    "'$event' on a $status order follows its table",
    ({ status, event }) => {
      const result = shop.transition(status, event);
      expect(result.ok ? result.to : result.code).toBe(CELLS[status][event]);
      expect(shop.acceptsEvent(status, event)).toBe(result.ok);
      if (!result.ok) expect(result).toEqual({ ok: false, code: result.code, status, event });
    },
  );

  test("has the statuses and events of its table, each once and in its order", () => {
    expect(shop.statuses).toEqual(Object.keys(CELLS));
    expect(shop.events).toEqual(["pay", "cancel", "pack", "ship", "return"]);
    expect(shop.statuses.every(shop.isStatus) && shop.events.every(shop.isEvent)).toBe(true);
  });

  test("returns the fields of a move that are the caller's own", () => {
    expect(shop.transition("paid", "cancel")).toEqual({ ok: true, to: "cancelled", refund: true });
    expect(shop.transition("new", "cancel")).toEqual({ ok: true, to: "cancelled" });
  });

  test("has literal types of its statuses, events, next statuses and codes", () => {
    expectTypeOf<Status>().toEqualTypeOf<"new" | "paid" | "packed" | "shipped" | "returned" | "cancelled">();
    expectTypeOf<Event>().toEqualTypeOf<"pay" | "cancel" | "pack" | "ship" | "return">();
    const packed = shop.transition("paid" as Status, "pack");
    if (packed.ok) expectTypeOf(packed.to).toEqualTypeOf<"packed">();
    expectTypeOf<keyof ReturnType<typeof shop.errorsOf<"cancel">>>().toEqualTypeOf<
      "already_packed" | "cannot_cancel_returned" | "cannot_cancel_cancelled"
    >();
    const cancelled = shop.transition("paid" as Status, "cancel");
    if (!cancelled.ok)
      expectTypeOf(cancelled.code).toEqualTypeOf<
        "already_packed" | "cannot_cancel_returned" | "cannot_cancel_cancelled"
      >();
    // @ts-expect-error There is no such status.
    expect(() => shop.transition("lost", "pack")).toThrow();
    // @ts-expect-error There is no such event.
    expect(() => shop.transition("new", "lose")).toThrow();
  });
});

test("a message names the statuses that accept the event, or says that none does", () => {
  expect(shop.explain({ status: "shipped", event: "cancel" })).toBe(
    "The order is shipped; only new or paid orders accept 'cancel'.",
  );
  const kept = defineLifecycle({ new: { delete: { error: "orders_are_kept" } } });
  expect(kept.explain({ status: "new", event: "delete" })).toBe(
    "The order is new; no orders accept 'delete'.",
  );
});

test("each code of an event has one message, which names every status that it is for", () => {
  expect(shop.errorsOf("cancel")).toEqual({
    already_packed: "The order is packed or shipped; only new or paid orders accept 'cancel'.",
    cannot_cancel_returned: "The order is returned; only new or paid orders accept 'cancel'.",
    cannot_cancel_cancelled: "The order is cancelled; only new or paid orders accept 'cancel'.",
  });
});

test("a rule that leads to a status without a row does not compile", () => {
  // @ts-expect-error There is no status 'shiped'.
  expect(() => defineLifecycle({ packed: { ship: { to: "shiped" } }, shipped: {} })).toThrow(/^packed\.ship/);
});

test.each<[unknown, RegExp]>([
  [7, /^Give a table/],
  [[], /^Give a table/],
  [{ pending: null }, /^pending: Give its rules/],
  [{ pending: [] }, /^pending: Give its rules/],
  [{ pending: { cancel: [] } }, /^pending\.cancel: Give \{ to/],
  [{ pending: { cancel: 7 } }, /^pending\.cancel: Give/],
  [{ pending: { cancel: { error: 7 } } }, /^pending\.cancel: Give/],
  [{ pending: { cancel: { to: "pending", error: "no" } } }, /^pending\.cancel: Give/],
  [{ pending: { cancel: {} } }, /^pending\.cancel: Give/],
  [{ pending: { cancel: { error: "" } } }, /^pending\.cancel: Give/],
  [{ pending: { cancel: { to: 7 } } }, /^pending\.cancel\.to: Use one of: pending/],
  [{ packed: { ship: { to: "shiped" } }, shipped: {} }, /^packed\.ship\.to: Use one of: packed, shipped/],
])("%j is no table: the error names the place", (table, message) => {
  const define = () => defineLifecycle(table as never);
  expect(define).toThrow(message);
  expect(define).toThrow(expect.toSatisfy(isInvalidInput));
});

test("names that every object has are statuses and events like any other, and otherwise none", () => {
  const odd = defineLifecycle({ toString: { constructor: { to: "valueOf" } }, valueOf: {} });
  expect(odd.transition("toString", "constructor")).toEqual({ ok: true, to: "valueOf" });
  expect(odd.transition("valueOf", "constructor")).toMatchObject({ code: "cannot_constructor_valueOf" });
  for (const unknown of ["hasOwnProperty", "__proto__", "", null, undefined, 7, ["pay"]] as never[]) {
    expect([shop.isStatus(unknown), shop.isEvent(unknown)]).toEqual([false, false]);
    expect([shop.acceptsEvent("new", unknown), shop.acceptsEvent(unknown, "pay")]).toEqual([false, false]);
    for (const call of [
      () => shop.transition("new", unknown),
      () => shop.transition(unknown, "pay"),
      () => shop.errorsOf(unknown),
    ])
      expect(call).toThrow(expect.toSatisfy(isInvalidInput));
  }
});
