import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ORDER_FIELDS, orderExample, orderJsonSchema } from "../../lib/orders/order.ts";
import { orderSchema } from "../../lib/orders/order-schema.ts";
import { parseFields, parseOrder } from "../../lib/orders/wire.ts";
import { record } from "./records.ts";

test("loading and using the schemas generates no code, which a content security policy would report", () => {
  const script = `
    let generated = 0;
    globalThis.Function = new Proxy(Function, {
      construct: (...args) => (generated++, Reflect.construct(...args)),
    });
    const { orderSchema, parseDomains } = await import("./lib/index.ts");
    orderSchema.parse({ id: 7, quantity: 2 });
    parseDomains({ primary: "orders.example.com" }, { plan: "pro" });
    const ours = generated;
    const z = await import("zod");
    z.object({ id: z.number() }).parse({ id: 7 });
    console.log(ours, generated > ours);`;
  const args = ["--no-warnings", "--input-type=module", "-e", script];
  expect(execFileSync(process.execPath, args, { encoding: "utf8" })).toBe("0 true\n");
});

describe("orderSchema", () => {
  test("orderSchema accepts exactly the records that parseFields accepts", () => {
    const anything = fc.oneof(
      record,
      fc.record({ id: fc.anything(), quantity: fc.anything() }),
      fc.dictionary(
        fc.constantFrom(...Object.keys(ORDER_FIELDS), "__proto__", "note"),
        fc.oneof(fc.nat(), fc.anything()),
      ),
      fc.anything(),
    );
    fc.assert(
      fc.property(anything, (value) => {
        const parsed = parseFields(value);
        const { success, data } = orderSchema.safeParse(value);
        expect(success).toBe(parsed.ok);
        if (parsed.ok) expect(data).toEqual(parsed.order.record);
      }),
    );
  });

  test("orderSchema reports the same fix at the same field", () => {
    const { error } = orderSchema.safeParse({ id: 1, quantity: 3_000_000_000 });
    expect(error?.issues).toMatchObject([
      { path: ["quantity"], message: ORDER_FIELDS.quantity.validate(3_000_000_000) },
    ]);
  });
});

test("the JSON Schema describes every field of the record and nothing else", () => {
  expect(Object.keys(orderJsonSchema.properties)).toEqual(Object.keys(ORDER_FIELDS));
  expect(orderJsonSchema.properties).toMatchObject({
    id: { type: "integer", format: "int64", description: "Unique order identifier." },
    petId: { type: "integer", format: "int64" },
    quantity: { type: "integer", minimum: 0, maximum: 2_147_483_647 },
    shipDate: { type: "string", format: "date-time" },
    complete: { type: "boolean" },
  });
});

test("every field is described, and the example of the documentation is an order", () => {
  for (const [name, { description }] of Object.entries(
    orderJsonSchema.properties as Record<string, { description: string }>,
  ))
    expect(description, name).toMatch(/^[A-Z].{15,}\.$/);
  expect(parseOrder(orderExample)).toMatchObject({ ok: true });
  expect(Object.keys(orderExample)).toEqual(Object.keys(ORDER_FIELDS));
  expect(parseOrder({ id: 1, quantity: 0 })).toMatchObject({ ok: true });
});
