import { describe, expect, test } from "vitest";
import { eventsThatChange } from "../../lib/console/orders/order-actions.ts";
import { readOrder } from "../../lib/console/orders/place-order.ts";
import { acceptsEvent, ORDER_STATUSES } from "../../lib/orders/lifecycle.ts";
import { orderSchema } from "../../lib/orders/order-schema.ts";

describe("the fields of a new order", () => {
  test("every field is read, and integers keep every digit", () => {
    const fields = {
      id: " 9223372036854775807 ",
      petId: "-9007199254740993",
      quantity: "3",
      complete: "false",
    };
    expect(readOrder({ ...fields, shipDate: "2026-12-01T09:00:00Z" })).toEqual({
      id: 9223372036854775807n,
      petId: -9007199254740993n,
      quantity: 3,
      shipDate: "2026-12-01T09:00:00Z",
      complete: false,
    });
  });

  test("empty fields are missing, and fields that are not of a record are ignored", () => {
    const fields = { id: "", petId: " ", quantity: "", shipDate: "", complete: "" };
    expect(readOrder({ ...fields, status: "<b>shipped</b>", token: "x" })).toEqual({});
  });

  test.each([
    ["id", "9223372036854775808"],
    ["id", "007"],
    ["id", "1e3"],
    ["petId", "1.5"],
    ["quantity", "-1"],
    ["quantity", "2147483648"],
    ["quantity", "99999999999999999999"],
    ["shipDate", "2026-02-30T09:00:00Z"],
    ["shipDate", "<b>soon</b>"],
    ["complete", "maybe"],
  ])("%s '%s' is rejected by the schema of orders", (name, text) => {
    const { success, error } = orderSchema.safeParse({ id: 1n, ...readOrder({ [name]: text }) });
    expect(success).toBe(false);
    expect(error?.issues.map(({ path }) => path)).toEqual([[name]]);
  });
});

describe("the events that are offered", () => {
  test.each(ORDER_STATUSES)("for a %s order they are those that the state machine accepts", (status) => {
    const accepted = (["ship", "fulfil", "cancel"] as const).filter((event) => acceptsEvent(status, event));
    expect(eventsThatChange({ record: { id: 1n }, status }, 0)).toEqual(accepted);
  });

  test("fulfilling a complete order again is not offered", () => {
    expect(eventsThatChange({ record: { id: 1n, complete: true }, status: "shipped" }, 0)).toEqual([]);
  });
});
