import fc from "fast-check";
import { expect, test } from "vitest";
import {
  fromWire,
  type OrderRecord,
  parseLine,
  parseOrder,
  type StoredOrder,
  toLine,
  toWire,
} from "../../lib/orders/order.ts";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const record = fc.record(
  {
    id: int64,
    petId: int64,
    quantity: fc.maxSafeNat(),
    shipDate: fc
      .date({
        min: new Date("0001-01-01T00:00:00Z"),
        max: new Date("9999-12-31T23:59:59Z"),
        noInvalidDate: true,
      })
      .map((date) => date.toISOString()),
    complete: fc.boolean(),
  },
  { requiredKeys: ["id"] },
) as fc.Arbitrary<OrderRecord>;
const stored: fc.Arbitrary<StoredOrder> = fc.record({
  record,
  status: fc.constantFrom("pending", "shipped", "cancelled"),
});

test("a record goes over the wire and back without a change, over the whole int64 range (decision 5)", () => {
  fc.assert(fc.property(record, (order) => void expect(fromWire(toWire(order))).toEqual(order)));
});

test("an exported line is imported as the same order", () => {
  fc.assert(fc.property(stored, (order) => void expect(parseLine(toLine(order))).toEqual({ order })));
});

test("the wire form has the five fields in their order, digits and all, and no status (decisions 2 and 5)", () => {
  const order = {
    id: 9223372036854775807n,
    petId: -1n,
    quantity: 3,
    shipDate: "2026-11-20T10:00:00+01:00",
    complete: false,
  };
  expect(toWire(order)).toBe(
    '{"id":9223372036854775807,"petId":-1,"quantity":3,"shipDate":"2026-11-20T10:00:00+01:00","complete":false}',
  );
  expect(toWire({ id: 0n })).toBe('{"id":0}');
});

test("a line without a status is a pending order", () => {
  expect(parseLine('{"id":1}')).toEqual({ order: { record: { id: 1n }, status: "pending" } });
});

const digits = "Write a whole number from -9223372036854775808 to 9223372036854775807, in plain digits.";
test.each([
  ["", "", "This is not JSON."],
  ["{", "", "This is not JSON."],
  ["null", "", "An order is a JSON object."],
  ["[]", "", "An order is a JSON object."],
  ["7", "", "An order is a JSON object."],
  ["{}", "id", digits],
  ['{"id":null}', "id", digits],
  ['{"id":"1"}', "id", digits],
  ['{"id":1.5}', "id", digits],
  ['{"id":9223372036854775808}', "id", digits],
  ['{"id":-9223372036854775809}', "id", digits],
  ['{"id":1e400}', "id", digits],
  ['{"id":1,"petId":null}', "petId", digits],
  ['{"id":1,"quantity":-1}', "quantity", "Write a whole number of at least 0."],
  ['{"id":1,"quantity":1.5}', "quantity", "Write a whole number of at least 0."],
  ['{"id":1,"quantity":9223372036854775807}', "quantity", "Write a whole number of at least 0."],
  ['{"id":1,"complete":"yes"}', "complete", "Write true or false."],
  ['{"id":1,"status":"lost"}', "status", "Write one of pending, shipped, cancelled."],
  ['{"id":1,"status":null}', "status", "Write one of pending, shipped, cancelled."],
  [
    '{"id":1,"color":"red"}',
    "color",
    "Unknown field. Known: id, petId, quantity, shipDate, complete, status.",
  ],
  [
    '{"id":1,"__proto__":{}}',
    "__proto__",
    "Unknown field. Known: id, petId, quantity, shipDate, complete, status.",
  ],
])("%s is refused at '%s', with the mend", (line, path, message) => {
  expect(parseLine(line)).toEqual({ issues: [{ path, message }] });
});

test.each([
  "2026-11-20",
  "2026-11-20T10:00:00",
  "2026-11-20 10:00:00Z",
  "2026-02-29T10:00:00Z",
  "2026-13-01T10:00:00Z",
  "2026-11-31T10:00:00Z",
  "2026-11-20T24:00:00Z",
  "2026-11-20T10:00:00+25:00",
  "20-11-2026",
  "",
])("%j is no RFC 3339 date-time with an offset (decision 5)", (shipDate) => {
  expect(parseOrder({ id: 1, shipDate })).toHaveProperty("issues[0].path", "shipDate");
});

test.each(["2024-02-29T23:59:60Z", "2026-11-20t10:00:00.123456789z", "2026-11-20T10:00:00-23:59"])(
  "%s is one, and is kept as it was written",
  (shipDate) => {
    expect(parseOrder({ id: 1n, shipDate })).toEqual({
      order: { record: { id: 1n, shipDate }, status: "pending" },
    });
  },
);

test("every fault of a line is told, not just the first", () => {
  const parsed = parseLine('{"petId":"x","quantity":-1,"shipDate":5}');
  expect("issues" in parsed && parsed.issues.map(({ path }) => path)).toEqual([
    "petId",
    "quantity",
    "shipDate",
    "id",
  ]);
});
