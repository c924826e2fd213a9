import fc from "fast-check";
import { expect, test } from "vitest";
import { parseInt64, parseInt64Json } from "../../lib/orders/int64.ts";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

test("every int64 is read back from its own digits (decision 5)", () => {
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
])("%j is no int64, so it names no resource (decision 6)", (text) => {
  expect(parseInt64(text)).toBeUndefined();
});

test("JSON integers keep every digit, whatever stands around them", () => {
  fc.assert(
    fc.property(int64, (value) => {
      const read = parseInt64Json(`{"a":[${value}],"b":"${value}"}`) as { a: [number | bigint]; b: string };
      return BigInt(read.a[0]) === value && read.b === value.toString();
    }),
  );
});
