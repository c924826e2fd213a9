import fc from "fast-check";
import { expect, test } from "vitest";
import { type Line, MAX_LINE_BYTES, splitLines } from "../../lib/orders/lines.ts";

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
  const line = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constant(""),
    fc.constant("\r"),
    fc.constant("€🐕"),
  );
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

test.each([
  ["a line of MAX_LINE_BYTES is decoded", MAX_LINE_BYTES, false],
  ["a line of MAX_LINE_BYTES + 1 is too long", MAX_LINE_BYTES + 1, true],
])("%s, however it is split into chunks", async (_title, length, isTooLong) => {
  const bytes = new Uint8Array(length + 1).fill(97);
  bytes[length] = 10;
  for (const cuts of [
    [],
    [1],
    [MAX_LINE_BYTES],
    [length],
    Array.from({ length: 20 }, (_, cut) => cut * 65_536),
  ]) {
    const lines = await linesOf(bytes, cuts);
    expect(lines.every((line) => "error" in line === isTooLong && line.number === 1)).toBe(true);
    const pieces = lines.flatMap((line) => ("error" in line ? [line] : []));
    if (!isTooLong) continue;
    expect(pieces.map(({ first }) => first)).toEqual(pieces.map((_, index) => index === 0));
    expect(pieces.map(({ last }) => last)).toEqual(pieces.map((_, index) => index === pieces.length - 1));
    expect(pieces.reduce((sum, { bytes: piece }) => sum + piece.length, 0)).toBe(length);
  }
});

test("a line of 1 GiB is returned in pieces of at most MAX_LINE_BYTES and one chunk", async () => {
  const chunk = new Uint8Array(64 * 1024).fill(120);
  async function* endless() {
    for (let index = 0; index < 16_384; index++) yield chunk;
  }
  let longest = 0;
  let length = 0;
  for await (const lines of splitLines(endless())) {
    for (const line of lines) if ("error" in line) longest = Math.max(longest, line.bytes.length);
    for (const line of lines) if ("error" in line) length += line.bytes.length;
  }
  expect(length).toBe(1024 ** 3);
  expect(longest).toBeLessThanOrEqual(MAX_LINE_BYTES + chunk.length);
});

test("a line that is not UTF-8 leaves the other lines of its chunk, and their numbers, as they are", async () => {
  const bytes = Buffer.concat([utf8("a\n\ufeffb\n"), Uint8Array.of(0xff, 0x0a), utf8("€\r\n\nlast")]);
  const lines = await linesOf(bytes);
  expect(lines.map((line) => [line.number, "text" in line ? line.text : line.error])).toEqual([
    [1, "a"],
    [2, "b"],
    [3, "not_utf8"],
    [4, "€\r"],
    [5, ""],
    [6, "last"],
  ]);
});

test("one byte order mark at the start of any line is removed", async () => {
  const lines = await linesOf(utf8("\ufeffa\n\ufeff\ufeffb\n\ufeffc\ufeff\n\ufeff"));
  expect(lines.map((line) => "text" in line && line.text)).toEqual(["a", "\ufeffb", "c\ufeff", ""]);
});
