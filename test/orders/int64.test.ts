import fc from "fast-check";
import { expect, test } from "vitest";
import { parseInt64, parseInt64Json } from "../../lib/orders/int64.ts";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

test("every int64 is parsed from its decimal digits", () => {
  fc.assert(fc.property(int64, (value) => parseInt64(value.toString()) === value));
});

test.each([
  "",
  "9223372036854775808",
  "-9223372036854775809",
  "1e3",
  "+1",
  "01",
  "-0",
  "1.0",
  " 1",
  "1\n",
  "0x1",
  "١",
  "\0",
])("%j is not a canonical int64", (text) => {
  expect(parseInt64(text)).toBeUndefined();
});

test("JSON integers keep every digit in any context", () => {
  fc.assert(
    fc.property(int64, (value) => {
      const read = parseInt64Json(`{"a":[${value}],"b":"${value}"}`) as { a: [number | bigint]; b: string };
      return BigInt(read.a[0]) === value && read.b === value.toString();
    }),
  );
});

/** Places in a JSON text where a number can stand, each with the way to it. */
const PLACES: readonly (readonly [before: string, after: string, read: (value: never) => unknown])[] = [
  ["", "", (value) => value],
  [" ", "\n", (value) => value],
  ['{"a":', "}", ({ a }: { a: unknown }) => a],
  ['{"a" \t:\n', ' ,"b":"x"}', ({ a }: { a: unknown }) => a],
  ['{"\\"":', "}", (value) => value['"']],
  ["[", "]", ([a]: [unknown]) => a],
  ['["x" , ', ",2]", ([, a]: [unknown, unknown]) => a],
];

test("a number with a fraction or an exponent is never parsed as an integer, at any position", () => {
  const digits = fc.stringMatching(/^-?[1-9]\d{0,18}$/);
  const fraction = fc.stringMatching(/^\.\d{1,40}$/);
  const exponent = fc.stringMatching(/^[eE][+-]?\d{1,2}$/);
  const number = fc.oneof(
    fc.constantFrom("4503599627370496.64", `12.${"0".repeat(30)}1`, "1e1", "1.0"),
    fc.tuple(digits, fraction).map((parts) => parts.join("")),
    fc.tuple(digits, exponent).map((parts) => parts.join("")),
    fc.tuple(digits, fraction, exponent).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(number, fc.constantFrom(...PLACES), (text, [before, after, read]) => {
      expect(Number.isInteger(read(parseInt64Json(before + text + after) as never))).toBe(false);
    }),
  );
});

test("an integer is parsed exactly, at any position", () => {
  fc.assert(
    fc.property(int64, fc.constantFrom(...PLACES), (value, [before, after, read]) => {
      const parsed = read(parseInt64Json(`${before}${value}${after}`) as never) as number | bigint;
      expect(BigInt(parsed)).toBe(value);
    }),
  );
});
