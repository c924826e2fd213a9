import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ImportStep,
  importOrders,
  type Line,
  MAX_LINE_CHARS,
  splitLines,
} from "../../lib/orders/import.ts";
import type { StoredOrder } from "../../lib/orders/lifecycle.ts";
import { parseLine, toLine as serializeOrder } from "../../lib/orders/wire.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { anyText } from "../support/any-text.ts";

async function* inChunks(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts, bytes.length].sort((a, b) => a - b)) {
    if (cut > bytes.length) continue;
    yield bytes.subarray(from, cut);
    from = cut;
  }
}

async function linesOf(bytes: Uint8Array, cuts: readonly number[] = []): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const some of splitLines(inChunks(bytes, cuts))) lines.push(...some);
  return lines;
}

const utf8 = (text: string) => new TextEncoder().encode(text);

test("the lines of a stream do not depend on how it is split into chunks", async () => {
  const line = fc.oneof(anyText(), fc.constant(""), fc.constant("\r"), fc.constant("€🐕"));
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat(200)), async (texts, cuts) => {
      const lines = texts.map((text) => text.replaceAll("\n", " ").toWellFormed());
      const expected = lines.map((text, index) => ({ number: index + 1, text: text.replace(/^\ufeff/, "") }));
      const last = expected.at(-1);
      const withoutLastFeed = last !== undefined && lines.at(-1) === "" ? expected.slice(0, -1) : expected;
      expect(await linesOf(utf8(lines.map((text) => `${text}\n`).join("")), cuts)).toEqual(expected);
      expect(await linesOf(utf8(lines.join("\n")), cuts)).toEqual(withoutLastFeed);
    }),
  );
});

test("a line of 256 MiB is kept in memory only up to MAX_LINE_CHARS and two chunks", async () => {
  const chunk = new Uint8Array(64 * 1024).fill(120);
  async function* endless() {
    for (let index = 0; index < 4_096; index++) yield chunk;
    yield utf8('\n{"id":1}');
  }
  const lines: Line[] = [];
  for await (const some of splitLines(endless())) lines.push(...some);
  expect(lines.map(({ number }) => number)).toEqual([1, 2]);
  expect(lines[0]?.text.length).toBeGreaterThan(MAX_LINE_CHARS);
  expect(lines[0]?.text.length).toBeLessThanOrEqual(MAX_LINE_CHARS + 2 * chunk.length);
  expect(lines[1]?.text).toBe('{"id":1}');
});

test("bytes that are not UTF-8 leave the other lines of a chunk, and their numbers, as they are", async () => {
  const bytes = Buffer.concat([utf8("a\n\ufeffb\n"), Uint8Array.of(0xff, 0x0a), utf8("€\r\n\nlast")]);
  const numbered = (texts: string[]) => texts.map((text, index) => ({ number: index + 1, text }));
  expect(await linesOf(bytes)).toEqual(numbered(["a", "b", "\ufffd", "€\r", "", "last"]));
  expect(await linesOf(Uint8Array.of(0x61, 0x0a, 0xe2, 0x82))).toEqual(numbered(["a", "\ufffd"]));
});

test("one byte order mark at the start of any line is removed", async () => {
  const lines = await linesOf(utf8("\ufeffa\n\ufeff\ufeffb\n\ufeffc\ufeff\n\ufeff"));
  expect(lines.map(({ text }) => text)).toEqual(["a", "\ufeffb", "c\ufeff", ""]);
});

async function* toLines(texts: Iterable<string>): AsyncGenerator<readonly Line[]> {
  let number = 0;
  for (const text of texts) yield [{ number: ++number, text }];
}

async function collectSteps(steps: AsyncIterable<ImportStep>): Promise<ImportStep[]> {
  const all: ImportStep[] = [];
  for await (const step of steps) all.push(step);
  return all;
}

/** The last step of an import of bytes, and the rejects of all. */
async function importBytes(bytes: Uint8Array, cuts: readonly number[]) {
  const lines = splitLines(inChunks(bytes, cuts));
  const steps = await collectSteps(importOrders(lines, createMemoryStore().orders));
  return { ...steps.at(-1), rejects: steps.flatMap(({ rejects }) => rejects) };
}

/** The only step of an import of a few lines. */
async function stepOf(texts: Iterable<string>): Promise<ImportStep | undefined> {
  const steps = await collectSteps(importOrders(toLines(texts), createMemoryStore().orders));
  expect(steps).toHaveLength(1);
  return steps[0];
}

/** The steps of an import of so many orders, and the sizes of its batches. */
async function importInBatches(count: number, padding = "") {
  const { orders } = createMemoryStore();
  const batches: number[] = [];
  const place = async (batch: readonly StoredOrder[]) => {
    batches.push(batch.length);
    return orders.place(batch);
  };
  const texts = Array.from({ length: count }, (_, id) => `{"id":${id}}${padding}`);
  return { steps: await collectSteps(importOrders(toLines(texts), { place })), batches };
}

test("orders are placed in batches of 1,000, and each step reports the totals so far", async () => {
  const { steps, batches } = await importInBatches(2_500);
  expect(batches).toEqual([1_000, 1_000, 500]);
  expect(steps.map(({ line, placed }) => [line, placed])).toEqual([
    [1_000, 1_000],
    [2_000, 2_000],
    [2_500, 2_500],
  ]);
});

test("batches of long lines are smaller, so that memory stays bounded", async () => {
  const { batches } = await importInBatches(9, " ".repeat(512 * 1024));
  expect(Math.max(...batches)).toBeLessThanOrEqual(4);
});

test("many invalid lines are reported in several steps, in order, without a call of the store", async () => {
  const place = async () => {
    throw new Error("place() must not be called");
  };
  const steps = await collectSteps(importOrders(toLines(new Array(3_500).fill("x")), { place }));
  expect(steps.map(({ rejects }) => rejects.length)).toEqual([1_000, 1_000, 1_000, 500]);
  const numbers = steps.flatMap(({ rejects }) => rejects.map(({ number }) => number));
  expect(numbers).toEqual(Array.from({ length: 3_500 }, (_, index) => index + 1));
});

test("the first of two lines with the same ID is placed; an identical line is unchanged", async () => {
  const texts = ['{"id":1,"quantity":1}', '{"id":1,"quantity":2}', ' {"quantity":1,"id":1} '];
  const step = await stepOf(texts);
  expect(step).toMatchObject({ placed: 1, unchanged: 1, rejected: 1 });
  const reason = "Order 1 already exists with different content; it was not changed.";
  expect(step?.rejects).toEqual([{ number: 2, content: texts[1], reason }]);
});

test("an empty import yields one step with zero counts", async () => {
  expect(await stepOf([])).toEqual({ line: 0, placed: 0, unchanged: 0, rejected: 0, rejects: [] });
});

test("the longest valid order takes less than 1 KB in a store, whatever the length of its line", async () => {
  const { orders } = createMemoryStore();
  const id = -(2n ** 63n);
  const date = "2026-11-20T09:30:00.123456789+14:00";
  const fields = `"id":${id},"petId":${id},"quantity":2147483647,"shipDate":"${date}","complete":false`;
  const line = `{${" ".repeat(500_000)}${fields},"status":"cancelled"}`;
  const [step] = await collectSteps(importOrders(toLines([line]), orders));
  expect(step).toMatchObject({ placed: 1, rejected: 0 });
  const order = await orders.find(id);
  expect(order && Buffer.byteLength(serializeOrder(order))).toBeLessThan(1024);
});

test.each([
  '{"id":1,"id":2}',
  '{"id":1,"\\u0069d":2}',
  '{"id":1,"status":"shipped","status" : "pending"}',
  '{"id":1,"shipDate":"2026-11-20T09:30:00Z","shipDate":"2026-11-21T09:30:00Z"}',
])("%s, which parsers read differently, is rejected", (line) => {
  const message = expect.stringContaining("A field occurs twice.");
  expect(parseLine(line)).toMatchObject({ ok: false, issues: [{ message }] });
});

const NOT_JSON = {
  ...{ ok: false, code: "invalid_order" },
  issues: [{ path: "", message: "This is not valid JSON." }],
};

test("a line is JSON exactly if it is by RFC 8259", () => {
  const line = String.raw`{"id": 1.5e+1, "petId": -20, "shipDate": "\u00e9\"b", "complete": true, "x": [null, {}]}`;
  const characters = [...`{}[]:,"'\\+-.eE01x/*aN \t\r\n\v\u00a0\ufeff`];
  const edit = fc.record({
    at: fc.nat(line.length),
    length: fc.nat(3),
    text: fc.string({ unit: fc.constantFrom(...characters), maxLength: 3 }),
  });
  const outcomes = new Set<boolean>();
  const isJson = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(edit, ({ at, length, text }) => {
      const edited = line.slice(0, at) + text + line.slice(at + length);
      expect(isDeepStrictEqual(parseLine(edited), NOT_JSON)).toBe(!isJson(edited));
      outcomes.add(isJson(edited));
    }),
    { numRuns: 2_000 },
  );
  expect(outcomes.size).toBe(2);
  for (const deep of ["[".repeat(100_000), '{"id":'.repeat(50_000)])
    expect(parseLine(deep)).toEqual(NOT_JSON);
});

test("a reason contains no character that could forge a line or hide text on a terminal", async () => {
  const names = ["\u001b[31m", "\u009b2J", "\u202e", "\u2028", "\u2066", "\u007f", "\u0085"];
  const step = await stepOf(names.map((name) => JSON.stringify({ [name]: 1 })));
  expect(step?.rejects.map(({ reason }) => reason?.split(":")[0])).toEqual([
    ...["\\u001b[31m", "\\u009b2J", "\\u202e", "\\u2028", "\\u2066", "\\u007f", "\\u0085"],
  ]);
});

test("a reason that repeats a long name is cut", async () => {
  const step = await stepOf([JSON.stringify({ ["x".repeat(1_000)]: 1 })]);
  expect(step?.rejects[0]?.reason).toBe(`${"x".repeat(500)}…`);
});

test("blank lines are skipped, and still counted", async () => {
  const step = await stepOf(["", '{"id":1}', " \t\r", "x", ""]);
  expect(step).toMatchObject({ line: 5, placed: 1, rejected: 1, rejects: [{ number: 4 }] });
});

test.each([
  ["a line of MAX_LINE_CHARS is read", MAX_LINE_CHARS, { placed: 2, rejected: 0 }],
  ["a line of MAX_LINE_CHARS + 1 is too long", MAX_LINE_CHARS + 1, { placed: 1, rejected: 1 }],
])("%s, however it is split into chunks", async (_title, length, counts) => {
  const bytes = utf8(`${'{"id":1}'.padEnd(length)}\n{"id":2}`);
  for (const cuts of [
    [],
    [1],
    [MAX_LINE_CHARS],
    [length],
    Array.from({ length: 20 }, (_, cut) => cut * 65_536),
  ]) {
    expect(await importBytes(bytes, cuts)).toMatchObject({ line: 2, ...counts });
  }
});

test("a line that is too long or not UTF-8 is rejected once, with its beginning", async () => {
  const tooLong = "a".repeat(MAX_LINE_CHARS * 2 + 5);
  const bytes = Buffer.concat([Uint8Array.of(0x7b, 0xff, 0x0a), utf8(`${tooLong}\n{"id":1}`)]);
  const last = await importBytes(bytes, [MAX_LINE_CHARS + 10]);
  expect(last).toMatchObject({ line: 3, placed: 1, rejected: 2 });
  expect(last.rejects).toEqual([
    { number: 1, reason: "The line is not UTF-8.", content: "{\ufffd" },
    {
      number: 2,
      reason: "The line is longer than 1048576 characters.",
      content: tooLong.slice(0, MAX_LINE_CHARS),
    },
  ]);
});

test("a line that is too long is rejected although only the blank beginning of it is read", async () => {
  const bytes = utf8(`${" ".repeat(MAX_LINE_CHARS * 2)}{"id":1}\n{"id":2}`);
  const last = await importBytes(bytes, [MAX_LINE_CHARS + 10]);
  expect(last).toMatchObject({ line: 2, placed: 1, rejected: 1 });
});

test("a line with a bad byte in an unknown field, or in place of a letter, is no order", async () => {
  const bytes = Buffer.concat([utf8('{"id":1,"status":"pend'), Uint8Array.of(0xc3), utf8('ng"}')]);
  const [line] = await linesOf(bytes);
  expect((await stepOf([line?.text ?? ""]))?.rejects).toMatchObject([{ reason: "The line is not UTF-8." }]);
});
