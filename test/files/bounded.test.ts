import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { parseYaml } from "../../lib/files/bounded.ts";

test.each([
  "a: 1\nb: { c: 1, c: 2 }\na: 2\na: [\n",
  "a: 1\n# again\n!!str a: 2\n",
  "1: a\n'1': b\n1.0: c\n",
  "&a a: 1\n? a\n: 2\n*a : 3\n",
  "[{ a: 1, a: 2 }, a: 1, a: 2]",
  "? [a]\n: 1\n? [a]\n: 2\n",
  "%YAML 1.1\n---\n<<: { a: 1 }\n<<: { b: 1 }\nc: !!set { a, a }\n",
  "a: 1\na: 2\n---\na: 1\n",
])("duplicate keys are found where the package finds them: %j", (text) => {
  const parsed = parseYaml(text);
  const found = parsed.ok ? [] : parsed.problems.map(({ line, column }) => [line, column]);
  const expected = parseDocument(text).errors.map(({ linePos }) => [linePos?.[0].line, linePos?.[0].col]);
  expect(found).toEqual(expected);
});

test("parsing a file of many keys does not compare each with every other", () => {
  const lines = Array.from({ length: 20_000 }, (_, index) => `  k${index}: 1\n`);
  const start = process.threadCpuUsage();
  const parsed = parseYaml(`domains:\n${lines.join("")}  k0: 1\n`);
  // Processor time, in microseconds, so that other work does not count. With the comparisons it is 7 s.
  expect(process.threadCpuUsage(start).user).toBeLessThan(1_500_000);
  const place = { line: 20_002, column: 3 };
  expect(parsed).toEqual({
    ok: false,
    problems: [{ path: "", message: "Map keys must be unique.", ...place }],
  });
});
