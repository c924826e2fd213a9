import fc from "fast-check";
import { expect, test } from "vitest";
import { createSlicer } from "../../lib/node/request-slices.ts";

const text = fc.string({ unit: fc.constantFrom("\r", "\n", "\r\n", "a"), maxLength: 40 });

test("a slice ends after the first empty line, or with the input", () => {
  const property = fc.property(text, fc.nat(8), (content, start) => {
    const input = Buffer.from(content);
    fc.pre(start <= input.length);
    const found = input.indexOf("\r\n\r\n", start);
    expect(createSlicer().findEnd(input, start)).toBe(found === -1 ? input.length : found + 4);
  });
  fc.assert(property, { numRuns: 2_000 });
});
