import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LIFECYCLE, type OrderStatus, type StoredOrder } from "../../lib/orders/lifecycle.ts";
import {
  countRecords,
  DamagedOrderError,
  idOfWire,
  orderFromJson,
  orderToJson,
  parseLine,
  parseOrder,
  readOrderToChange,
  readStoredOrder,
  toLine,
} from "../../lib/orders/wire.ts";
import { record } from "./records.ts";

const stored: fc.Arbitrary<StoredOrder> = fc
  .record({ record, status: fc.constantFrom<OrderStatus>("pending", "shipped", "cancelled") })
  .map(({ record, status }) => ({ record, status: record.complete === true ? "shipped" : status }));

describe("the wire form", () => {
  test("the wire form keeps every field of a record, over the whole int64 range", () => {
    fc.assert(
      fc.property(record, (order) => void expect(orderFromJson(orderToJson(order))).toStrictEqual(order)),
    );
  });

  test("the wire form has the five fields in a fixed order, with all digits and without the status", () => {
    const order = {
      id: 9223372036854775807n,
      petId: -1n,
      quantity: 3,
      shipDate: "2026-11-20T10:00:00+01:00",
      complete: false,
    };
    expect(orderToJson(order)).toBe(
      '{"id":9223372036854775807,"petId":-1,"quantity":3,"shipDate":"2026-11-20T10:00:00+01:00","complete":false}',
    );
    expect(orderToJson({ id: 0n })).toBe('{"id":0}');
    // No field becomes another one, although nobody has validated it.
    const shipDate = '2026","complete":true,"y":"';
    expect(JSON.parse(orderToJson({ id: 1n, shipDate }))).toEqual({ id: 1, shipDate });
  });

  test("gives its identifier without being parsed", () => {
    fc.assert(fc.property(record, (order) => void expect(idOfWire(orderToJson(order))).toBe(order.id)));
  });

  test("the wire form of several records can be counted without being parsed", () => {
    fc.assert(
      fc.property(fc.array(record), (orders) => {
        expect(countRecords(orders.map(orderToJson).join(","))).toBe(orders.length);
      }),
    );
  });
});

test("an exported line is imported as the same order", () => {
  fc.assert(
    fc.property(stored, (order) => void expect(parseLine(toLine(order))).toEqual({ ok: true, order })),
  );
});

test.each<[string, OrderStatus | undefined, string]>([
  ["{}", undefined, "pending"],
  ["{}", "pending", "pending"],
  ["{}", "cancelled", "cancelled"],
  ['{"complete":false,"status":"cancelled"}', "pending", "cancelled"],
  ['{"complete":true}', undefined, "complete"],
  ['{"complete":true}', "pending", "shipped"],
  ['{"complete":true}', "shipped", "shipped"],
  ['{"complete":true}', "cancelled", "complete"],
  ['{"complete":true,"status":"shipped"}', undefined, "shipped"],
  ['{"complete":true,"status":"pending"}', "pending", "complete"],
  ['{"complete":true,"status":"cancelled"}', "pending", "complete"],
])("%s, with %s assumed, is %s, or has a problem in that field", (json, assumed, expected) => {
  const parsed = parseOrder({ id: 1, ...JSON.parse(json) }, assumed);
  expect(parsed.ok ? parsed.order.status : parsed.issues[0]?.path).toBe(expected);
});

test("the form of a line does not change what it means", () => {
  const name = fc.constantFrom("id", "petId", "quantity", "shipDate", "complete", "status", "color");
  const value = fc.constantFrom(
    ...["0", "-7", "1.0", "1e2", "999999999999999", "9007199254740993", "9223372036854775808", "null"],
    ...['"pending"', '"2026-02-28T10:00:00Z"', '"2026-02-29T10:00:00Z"', '"a\\"b"', "true", "{}", "[1]"],
  );
  const separator = fc.constantFrom(",", ", ", " ,", "");
  const field = fc
    .tuple(name, value, fc.constantFrom("", " "))
    .map(([key, json, space]) => `"${key}":${space}${json}`);
  // A line that begins with a space is always read in the slower way.
  const isSame = (line: string) => void expect(parseLine(line)).toEqual(parseLine(` ${line}`));
  fc.assert(
    fc.property(fc.array(field, { maxLength: 7 }), separator, (fields, comma) =>
      isSame(`{${fields.join(comma)}}`),
    ),
    { numRuns: 2_000 },
  );
  for (const fields of [
    ['"id":1', '"id":2'],
    ['"id":1.0'],
    ['"id":1', '"petId":9007199254740993'],
    ['"id":1', ""],
  ])
    isSame(`{${fields.join(",")}}`);
});

test("a line of an export is valid JSON, whatever the status of its order is", () => {
  const status = `"},{"\n` as OrderStatus;
  expect(JSON.parse(toLine({ record: { id: 1n }, status }))).toEqual({ id: 1, status });
});

test("a line without a status is a pending order", () => {
  const order = { record: { id: 1n }, status: "pending" };
  expect(parseLine('{"id":1}')).toEqual({ ok: true, order });
});

const int64Fix =
  "Write a whole number from -9223372036854775808 to 9223372036854775807, in plain digits without quotes.";
const quantityFix = "Write a whole number from 0 to 2147483647, in plain digits without quotes.";
const shipDateFix =
  "Write an RFC 3339 date-time with an offset and at most nine fractional digits, in the years 0001 to 9999, " +
  "with a second up to 59 and an upper-case T and Z, such as 2026-11-20T09:30:00Z.";
const unknownField = "Unknown field. Known fields: id, petId, quantity, shipDate, complete, status.";
test.each([
  ["null", "", "An order must be a JSON object."],
  ["[]", "", "An order must be a JSON object."],
  ["7", "", "An order must be a JSON object."],
  ["{}", "id", "The identifier is missing."],
  ['{"id":null}', "id", int64Fix],
  ['{"id":"1"}', "id", int64Fix],
  ['{"id":1.5}', "id", int64Fix],
  ['{"id":1.0}', "id", int64Fix],
  ['{"id":4503599627370496.64}', "id", int64Fix],
  ['{"id":1,"petId":1e1}', "petId", int64Fix],
  ['{"id":9223372036854775808}', "id", `The number is too large. ${int64Fix}`],
  ['{"id":-9223372036854775809}', "id", `The number is too large. ${int64Fix}`],
  ['{"id":1e400}', "id", int64Fix],
  ['{"id":1,"petId":null}', "petId", "Leave out a field that has no value."],
  ['{"id":1,"quantity":-1}', "quantity", quantityFix],
  ['{"id":1,"quantity":1.5}', "quantity", quantityFix],
  [`{"id":1,"quantity":12.${"0".repeat(30)}1}`, "quantity", quantityFix],
  ['{"id":1,"quantity":2147483648}', "quantity", `The number is too large. ${quantityFix}`],
  ['{"id":1,"quantity":9223372036854775807}', "quantity", `The number is too large. ${quantityFix}`],
  ['{"id":1,"shipDate":["2026-11-20T09:30:00Z"]}', "shipDate", shipDateFix],
  ['{"id":1,"complete":"yes"}', "complete", "Write true or false."],
  ['{"id":1,"status":"lost"}', "status", `Write one of ${LIFECYCLE.statuses.join(", ")}.`],
  ['{"id":1,"status":null}', "status", "Leave out a field that has no value."],
  ['{"id":1,"shipDate":null}', "shipDate", "Leave out a field that has no value."],
  ['{"id":1,"status":""}', "status", `Write one of ${LIFECYCLE.statuses.join(", ")}.`],
  ['{"id":1,"color":"red"}', "color", unknownField],
  ['{"id":1,"__proto__":{}}', "__proto__", unknownField],
])("the line %s is rejected at '%s' with a fix", (line, path, message) => {
  expect(parseLine(line)).toEqual({ ok: false, code: "invalid_order", issues: [{ path, message }] });
});

test.each([
  ...["", "20-11-2026", "2026-11-20", "2026-11-20T10:00:00", "2026-11-20 10:00:00Z"],
  ...["2026-11-20T10:00:00Z\n", "2026-11-20T10:00:00Z, or later", "on 2026-11-20T10:00:00Z"],
  ...["2026-02-29T10:00:00Z", "2026-13-01T10:00:00Z", "2026-11-31T10:00:00Z", "2026-11-20T24:00:00Z"],
  ...["2026-11-20T10:00:00+25:00", "2026-11-20T10:00:00.1234567890Z"],
  // RFC 3339 allows these, but the date types of some languages cannot read them.
  ...["2024-12-31T23:59:60Z", "2026-11-20t10:00:00Z", "2026-11-20T10:00:00z", "0000-01-01T00:00:00Z"],
  ...["2026-11-20T10:00:00+18:01", "2026-11-20T10:00:00-23:59"],
])("%j is rejected as a shipDate", (shipDate) => {
  expect(parseOrder({ id: 1, shipDate })).toHaveProperty("issues[0].path", "shipDate");
});

test.each([
  "2024-02-29T23:59:59Z",
  "2026-11-20T10:00:00.123456789Z",
  "2026-11-20T10:00:00-18:00",
  "0001-01-01T00:00:00+17:59",
  "9999-12-31T23:59:59-00:00",
])("the shipDate %s is stored exactly as written", (shipDate) => {
  const order = { record: { id: 1n, shipDate }, status: "pending" };
  expect(parseOrder({ id: 1n, shipDate })).toEqual({ ok: true, order });
});

test("an order that was stored before its ship date was forbidden can still be read", () => {
  const wire = '{"id":1,"shipDate":"2024-12-31t23:59:60z"}';
  expect(readStoredOrder(1n, wire, "pending").record.shipDate).toBe("2024-12-31t23:59:60z");
});

test("every issue of a line is reported, not just the first", () => {
  const parsed = parseLine('{"petId":"x","quantity":-1,"shipDate":5}');
  const paths = !parsed.ok && parsed.issues.map(({ path }) => path);
  expect(paths).toEqual(["petId", "quantity", "shipDate", "id"]);
});

test("a field that is undefined counts as missing", () => {
  const parsed = parseOrder({ id: 1, quantity: undefined, status: undefined });
  expect(parsed).toEqual({ ok: true, order: { record: { id: 1n }, status: "pending" } });
  expect(parseOrder({ id: undefined })).toMatchObject({
    issues: [{ path: "id", message: "The identifier is missing." }],
  });
  expect(parseOrder({ id: 1, note: undefined })).toMatchObject({ issues: [{ path: "note" }] });
});

test("only the own fields of an object count, as they were validated", () => {
  const injected = '"},{"id":2,"shipDate":"2026-11-20T09:30:00Z';
  const inherited = Object.assign(Object.create({ shipDate: injected, status: "lost" }), { id: 1 });
  const hidden = Object.defineProperty({ id: 1 }, "quantity", { value: -1 });
  const values = [1, "1"];
  const changing = {
    get id() {
      return values.shift();
    },
  };
  for (const value of [inherited, hidden, changing])
    expect(parseOrder(value)).toEqual({ ok: true, order: { record: { id: 1n }, status: "pending" } });
});

test("a damaged record of a database is named by its beginning, with the cause", () => {
  const wire = `{"id":1,"petId":${"x".repeat(500)}`;
  expect(() => readStoredOrder(1n, wire, "pending")).toThrow(
    expect.objectContaining({
      ...{ code: "damaged_order", retryable: false },
      message: `The record of order 1 is damaged: ${wire.slice(0, 80)}`,
      cause: expect.any(SyntaxError),
    }),
  );
});

test.each([
  ...["", "null", "[]", '"1"', "{}", '{"id":2}', '{"id":1,"petId":"x"}', '{"id":1,"shipDate":5}'],
  ...['{"id":1,"quantity":"2"}', '{"id":1,"quantity":{}}', '{"id":1,"quantity":null}'],
  '{"id":1,"shipDate":["2026-11-20"]}',
  String.raw`{"id":1,"shipDate":"\","x":"}`,
  String.raw`{"id":1,"shipDate":"\""}`,
  String.raw`{"id":1,"shipDate":"\n"}`,
  '{"id":1,"complete":1}',
  '{"id":1,"complete":"},{"}',
])("the stored record %s is damaged: nobody could read what would be sent of it", (wire) => {
  expect(() => readStoredOrder(1n, wire, "pending")).toThrow(DamagedOrderError);
  expect(readOrderToChange(1n, wire, "pending", "cancel")).toEqual({ record: { id: 1n }, status: "pending" });
  for (const event of ["ship", "fulfil"] as const)
    expect(() => readOrderToChange(1n, wire, "pending", event)).toThrow(DamagedOrderError);
});
