import {
  array,
  assert,
  asyncProperty,
  bigInt,
  boolean,
  constantFrom,
  date,
  integer,
  nat,
  option,
  record,
  string,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { IncompleteListError, MalformedListError } from "../../lib/client/client-errors.ts";
import { readOrders } from "../../lib/client/order-reader.ts";
import { type OrderRecord, toWire } from "../../lib/orders/order.ts";

/** Reads a body that comes in these pieces. What was read before an error is told with it. */
async function read(pieces: readonly Uint8Array[]) {
  const orders: OrderRecord[] = [];
  const rest = ReadableStream.from<Uint8Array>([...pieces]).getReader();
  const options = { sleep: async () => {}, idleTimeoutMs: Infinity, signal: new AbortController().signal };
  try {
    for await (const order of readOrders({ first: new Uint8Array(), rest }, options)) orders.push(order);
    return { orders };
  } catch (error) {
    return { orders, error };
  }
}

const bytes = (text: string) => new TextEncoder().encode(text);

/** Cuts bytes at these places, wherever they are: in a number, in an escape, in a character. */
function cut(whole: Uint8Array, places: readonly number[]): Uint8Array[] {
  const edges = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...edges].map((from, index) => whole.slice(from, edges[index] ?? whole.length));
}

const int64 = bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const known = record(
  {
    id: int64,
    petId: int64,
    quantity: nat(),
    shipDate: date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-01-01") }).map((day) =>
      day.toISOString(),
    ),
    complete: boolean(),
  },
  { requiredKeys: ["id"] },
);
/** A field of a later version, with all that can mislead a reader. */
const unknown = option(
  record({
    [`"}]{[,\\ü€😀`]: string({ unit: "binary" }),
    list: array(constantFrom("]", "}", '"', "\\", "\u2028", "😀", [], {})),
  }),
  { nil: undefined },
);
const space = constantFrom("", " ", "\n", "\r\n\t ");

/** Orders, and a text that lists them. */
const lists = record({
  entries: array(record({ known, unknown, space }), { maxLength: 12 }),
  edge: space,
}).map(({ entries, edge }) => ({
  orders: entries.map((entry) => entry.known),
  text: `${edge}[${edge}${entries
    .map((entry) => {
      const wire = toWire(entry.known);
      const more = entry.unknown === undefined ? "" : `,"later":${JSON.stringify(entry.unknown)}`;
      return `${entry.space}${wire.slice(0, -1)}${more}}${entry.space}`;
    })
    .join(",")}]${edge}`,
}));

test("a list comes out the same however it is cut (property)", async () => {
  await assert(
    asyncProperty(lists, array(nat(), { maxLength: 40 }), async ({ orders, text }, places) => {
      expect(await read(cut(bytes(text), places))).toEqual({ orders });
    }),
    { numRuns: 300 },
  );
});

test("a list in single bytes", async () => {
  const text = ' [ {"id":9223372036854775807,"note":"\\"}],\\u20ac €😀\\\\"} , {"id":-1} ] \n';
  expect(await read([...bytes(text)].map((byte) => Uint8Array.of(byte)))).toEqual({
    orders: [{ id: 9223372036854775807n }, { id: -1n }],
  });
});

test("a list that breaks off anywhere is an error, and what came before it is right (property)", async () => {
  await assert(
    asyncProperty(lists, nat(), integer({ min: 1, max: 9 }), async ({ orders, text }, place, size) => {
      const whole = bytes(text.trimEnd());
      const part = whole.slice(0, place % whole.length);
      const result = await read(
        cut(
          part,
          Array.from({ length: 50 }, (_, index) => index * size),
        ),
      );
      expect(result.error).toBeInstanceOf(IncompleteListError);
      expect(orders.slice(0, result.orders.length)).toEqual(result.orders);
    }),
    { numRuns: 300 },
  );
});

describe("what is no list of orders is told", () => {
  test.each([
    ["a page of HTML", "<html></html>"],
    ["an Error body", '{"code":"internal_error"}'],
    ["a list of numbers", "[1,2]"],
    ["a list in a list", "[[]]"],
    ["no comma", '[{"id":1}{"id":2}]'],
    ["a comma too many", '[{"id":1},]'],
    ["a comma at the start", '[,{"id":1}]'],
    ["more behind the end", '[{"id":1}]{}'],
    ["no JSON", '[{"id":01}]'],
    ["brackets that do not match", '[{"id":1]}]'],
    ["no identifier", '[{"petId":1}]'],
    ["an identifier beyond int64", '[{"id":9223372036854775808}]'],
    ["an identifier that is a text", '[{"id":"1"}]'],
    ["a fraction", '[{"id":1.5}]'],
    ["a null", '[{"id":1,"petId":null}]'],
  ])("%s", async (_name, text) => {
    expect((await read([bytes(text)])).error).toBeInstanceOf(MalformedListError);
  });

  test("bytes that are no UTF-8", async () => {
    const { error } = await read([bytes('[{"id":1,"x":"'), Uint8Array.of(0xff), bytes('"}]')]);
    expect(error).toBeInstanceOf(MalformedListError);
  });

  test("an element without end does not fill the memory", async () => {
    const piece = bytes("a".repeat(65_536));
    let pieces = 0;
    async function* endless() {
      yield bytes('[{"id":"');
      for (;;) {
        pieces++;
        yield piece;
      }
    }
    const rest = ReadableStream.from<Uint8Array>(endless()).getReader();
    const options = { sleep: async () => {}, idleTimeoutMs: Infinity, signal: new AbortController().signal };
    const orders = readOrders({ first: new Uint8Array(), rest }, options);
    await expect(orders.next()).rejects.toBeInstanceOf(MalformedListError);
    expect(pieces).toBeLessThan(20);
  });

  test("a body of nothing is torn, not empty", async () => {
    expect((await read([])).error).toBeInstanceOf(IncompleteListError);
  });
});
