import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { parseInt64, parseInt64Json, parseJsonNumbers, toInt64Json } from "../../lib/orders/int64.ts";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

test("every int64 is parsed from its decimal digits", () => {
  fc.assert(fc.property(int64, (value) => parseInt64(value.toString()) === value));
});

test.each([
  ...["9223372036854775808", "-9223372036854775809"],
  ...["", "1e3", "+1", "01", "-0", "1.0", " 1", "1\n", "0x1", "١", "\0"],
])("%j is not a canonical int64", (text) => {
  expect(parseInt64(text)).toBeUndefined();
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

/** JSON texts, some of them invalid, with numbers, strings and keys that look like each other. */
const { json } = fc.letrec((tie) => {
  const string = fc.constantFrom(
    '""',
    '"a\\""',
    '"\\\\"',
    '"1234567890123456789"',
    '"[9007199254740993,"',
    '"é"',
    '"__proto__"',
  );
  const digits = [
    "0",
    "-0",
    "1e5",
    "1E+400",
    "9007199254740993",
    "9007199254740991",
    "-12345678901234567890",
  ];
  const invalid = [
    "01234567890123456789",
    "--1234567890123456",
    "1234567890123456-",
    "1234567890123456.",
    "-",
    '"\\',
  ];
  const number = fc.constantFrom(...digits, "0.1234567890123456789", "9007199254740993.0", "1e", ...invalid);
  const member = fc.tuple(fc.oneof({ arbitrary: string, weight: 9 }, number), tie("json"));
  const list = (items: fc.Arbitrary<unknown>, [open, close]: string) =>
    fc.array(items, { maxLength: 3 }).map((texts) => `${open}${texts.join(" ,")}${close}`);
  const json = fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    ...[string, number, fc.constant("null"), list(tie("json"), "[]")],
    list(
      member.map(([key, value]) => `${key}: ${value}`),
      "{}",
    ),
  );
  return { json };
});

test("numbers are read from their text as with a reviver, which nothing needs", () => {
  const numbers = /(?<![\d.eE+-])-?[1-9]\d{15,}(?![\d.eE+-])/g;
  const read = (source: string) => BigInt(source.length);
  const reviver = ((_key: string, value: unknown, { source = "" }: { source?: string }) =>
    /^-?[1-9]\d{15,}$/.test(source) ? read(source) : value) as (key: string, value: unknown) => unknown;
  const resultOf = (parse: () => unknown) => {
    try {
      return parse();
    } catch (error) {
      return (error as Error).name;
    }
  };
  fc.assert(
    fc.property(json as fc.Arbitrary<string>, (text) => {
      const expected = resultOf(() => JSON.parse(text, reviver));
      using parse = vi.spyOn(JSON, "parse");
      expect(resultOf(() => parseJsonNumbers(text, numbers, read))).toEqual(expected);
      expect(parse.mock.calls.every(({ length }) => length === 1)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("JSON can be nested 2,000 levels deep", () => {
  const nested = (depth: number) => `${"[".repeat(depth)}9007199254740993${"]".repeat(depth)}`;
  const read = (text: string) => JSON.stringify(parseJsonNumbers(text, /\d{16}/g, () => 7));
  expect(read(nested(2_000))).toBe(nested(2_000).replace(/\d+/, "7"));
  expect(() => read(nested(2_001))).toThrow(SyntaxError);
  expect(read(`[${"[],".repeat(5_000)}"${"[".repeat(5_000)}"]`)).toHaveLength(20_004);
});

test("an int64 is written as a number, also in a program that gives bigint a toJSON", () => {
  Object.defineProperty(BigInt.prototype, "toJSON", {
    configurable: true,
    value: function (this: bigint) {
      return `${this}`;
    },
  });
  onTestFinished(() => void Reflect.deleteProperty(BigInt.prototype, "toJSON"));
  const at = new Date(0);
  expect(toInt64Json({ id: 2n ** 63n - 1n, at, all: [1n, { toJSON: () => 2n }] })).toBe(
    '{"id":9223372036854775807,"at":"1970-01-01T00:00:00.000Z","all":[1,2]}',
  );
});
