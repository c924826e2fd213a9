import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { IncompleteListError, MalformedListError } from "../../lib/client/client-errors.ts";
import { parseOrders } from "../../lib/client/order-list.ts";
import type { OrderRecord } from "../../lib/orders/order.ts";
import { orderToJson } from "../../lib/orders/wire.ts";
import { anyText } from "../support/any-text.ts";

/** Reads a body of these chunks. Returns the orders, and the error that ended the list, if any. */
async function read(chunks: readonly Uint8Array[]) {
  const orders: OrderRecord[] = [];
  const reader = ReadableStream.from<Uint8Array>([...chunks]).getReader();
  const options = { idleTimeoutMs: Infinity, signal: new AbortController().signal };
  try {
    for await (const order of parseOrders({ firstChunk: new Uint8Array(), reader }, options))
      orders.push(order);
    return { orders };
  } catch (error) {
    return { orders, error };
  }
}

const encode = (text: string) => new TextEncoder().encode(text);

/** Splits bytes at these offsets, which may be inside a number, an escape or a character. */
function split(bytes: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const edges = [...new Set(offsets.map((offset) => offset % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...edges].map((from, index) => bytes.slice(from, edges[index] ?? bytes.length));
}

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const known = fc.record(
  {
    id: int64,
    petId: int64,
    quantity: fc.nat(),
    shipDate: fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-01-01") })
      .map((day) => day.toISOString()),
    complete: fc.boolean(),
  },
  { requiredKeys: ["id"] },
);
/** A field of a later version, with characters that could confuse the parser. */
const unknown = fc.option(
  fc.record({
    [`"}]{[,\\ü€😀`]: anyText(),
    list: fc.array(fc.constantFrom("]", "}", '"', "\\", "\u2028", "😀", [], {})),
  }),
  { nil: undefined },
);
const space = fc.constantFrom("", " ", "\n", "\r\n\t ");

const lists = fc
  .record({
    entries: fc.array(fc.record({ known, unknown, space }), { maxLength: 12 }),
    edge: space,
  })
  .map(({ entries, edge }) => ({
    orders: entries.map((entry) => entry.known),
    text: `${edge}[${edge}${entries
      .map((entry) => {
        const wire = orderToJson(entry.known);
        const more = entry.unknown === undefined ? "" : `,"later":${JSON.stringify(entry.unknown)}`;
        return `${entry.space}${wire.slice(0, -1)}${more}}${entry.space}`;
      })
      .join(",")}]${edge}`,
  }));

test("a list yields the same orders however it is split (property)", async () => {
  await fc.assert(
    fc.asyncProperty(lists, fc.array(fc.nat(), { maxLength: 40 }), async ({ orders, text }, offsets) => {
      expect(await read(split(encode(text), offsets))).toEqual({ orders });
    }),
    { numRuns: 300 },
  );
});

test("a list that ends anywhere early is an error after correct orders (property)", async () => {
  await fc.assert(
    fc.asyncProperty(
      lists,
      fc.nat(),
      fc.integer({ min: 1, max: 9 }),
      async ({ orders, text }, offset, size) => {
        const complete = encode(text.trimEnd());
        const part = complete.slice(0, offset % complete.length);
        const offsets = Array.from({ length: 50 }, (_, index) => index * size);
        const result = await read(split(part, offsets));
        expect(result.error).toBeInstanceOf(IncompleteListError);
        expect(orders.slice(0, result.orders.length)).toEqual(result.orders);
      },
    ),
    { numRuns: 300 },
  );
});

describe("malformed lists", () => {
  test.each([
    ["an HTML page", "<html></html>"],
    ["an Error body", '{"code":"internal_error"}'],
    ["a list of numbers", "[1,2]"],
    ["a nested list", "[[]]"],
    ["a missing comma", '[{"id":1}{"id":2}]'],
    ["a trailing comma", '[{"id":1},]'],
    ["a leading comma", '[,{"id":1}]'],
    ["text after the end", '[{"id":1}]{}'],
    ["invalid JSON", '[{"id":01}]'],
    ["mismatched brackets", '[{"id":1]}]'],
    ["an order without an identifier", '[{"petId":1}]'],
    ["an identifier beyond int64", '[{"id":9223372036854775808}]'],
    ["a string as the identifier", '[{"id":"1"}]'],
    ["a fraction as the identifier", '[{"id":1.5}]'],
    ["a null field", '[{"id":1,"petId":null}]'],
  ])("%s throws MalformedListError", async (_name, text) => {
    expect((await read([encode(text)])).error).toBeInstanceOf(MalformedListError);
  });

  test.each([
    ["<html>", "The response is not a JSON array. A proxy probably sent it instead of the service."],
    ['[{"id":1}{"id":2}]', "Unexpected character after order 1."],
  ])("the error of %s says what is wrong, and where", async (text, message) => {
    expect((await read([encode(text)])).error).toEqual(new MalformedListError(message));
  });

  test("invalid UTF-8 throws MalformedListError", async () => {
    const { error } = await read([encode('[{"id":1,"x":"'), Uint8Array.of(0xff), encode('"}]')]);
    expect(error).toBeInstanceOf(MalformedListError);
    expect(error).toMatchObject({ message: "The list is not valid UTF-8." });
  });

  test("an element that never ends throws before it fills the memory", async () => {
    const chunk = encode("a".repeat(65_536));
    let chunks = 0;
    async function* endless() {
      yield encode('[{"id":"');
      for (;;) {
        chunks++;
        yield chunk;
      }
    }
    const reader = ReadableStream.from<Uint8Array>(endless()).getReader();
    const options = { idleTimeoutMs: Infinity, signal: new AbortController().signal };
    const orders = parseOrders({ firstChunk: new Uint8Array(), reader }, options);
    await expect(orders.next()).rejects.toEqual(new MalformedListError("Order 1 is too long."));
    expect(chunks).toBeLessThan(20);
  });

  test("an order may have a MiB of text, and not a character more", async () => {
    const list = (length: number) => encode(`[${'{"id":1,"x":"'.padEnd(length - 2, "a")}"}]`);
    expect(await read([list(1024 * 1024)])).toEqual({ orders: [{ id: 1n }] });
    expect((await read([list(1024 * 1024 + 1)])).error).toEqual(
      new MalformedListError("Order 1 is too long."),
    );
  });

  test("an empty body is an incomplete list, not an empty one", async () => {
    expect((await read([])).error).toBeInstanceOf(IncompleteListError);
    for (const cut of ["", ",", ',{"id":3'])
      expect((await read([encode(`[{"id":1},{"id":2}${cut}`)])).error).toMatchObject({
        message: "The list ended early, after order 2.",
      });
  });
});

test("a ship date that an earlier version of the service stored does not fail the list", async () => {
  const body = encode('[{"id":1,"shipDate":"2024-12-31t23:59:60z","color":"red"},{"id":2}]');
  const orders = [{ id: 1n, shipDate: "2024-12-31t23:59:60z" }, { id: 2n }];
  expect(await read([body])).toEqual({ orders });
  const { error } = await read([encode('[{"id":1,"shipDate":5}]')]);
  expect(error).toBeInstanceOf(MalformedListError);
});
