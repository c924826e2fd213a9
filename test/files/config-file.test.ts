import { expect, test } from "vitest";
import { parseDomainsFile } from "../../lib/domains/parse.ts";
import { fileError, parseConfig } from "../../lib/files/config-file.ts";
import { explainFileError } from "../../lib/files/read.ts";

const parse = (text: string) => parseConfig(text, (value) => ({ ok: true, value }));

test.each(["? [a]\n: 1\n", "{ { a: 1 }: 2 }", "&a a: 1\n*a : 3\n", "__proto__: {}"])(
  "a key that is no text, or that schemas skip, is an error: %j",
  (text) => {
    expect(parse(text)).toMatchObject({ problems: [{ message: "This cannot be a key." }] });
  },
);

test("the largest mapping has fewer parts than a file may have, in every style, and a file of more is not parsed", () => {
  const name = (index: number) => `h${index}.example.com`;
  const all = Array.from({ length: 500 }, (_, index) => index);
  const domains = {
    primary: "orders.example.com",
    aliases: all.map(name),
    redirects: all.map((index) => ({ from: `www.${name(index)}`, to: "orders.example.com", status: 301 })),
  };
  const lines = [
    "domains:\n  primary: orders.example.com\n  aliases:",
    ...domains.aliases.map((host) => `    # of a partner\n    - "${host}" # since 2024`),
    "  redirects:",
    ...domains.redirects.map(
      ({ from, to }) => `    - from: "${from}" # old\n      to: ${to}\n      status: 301\n`,
    ),
  ];
  const validate = (content: unknown) => {
    const parsed = parseDomainsFile(content, { plan: "pro" });
    return parsed.ok ? ({ ok: true, value: parsed.domains } as const) : parsed;
  };
  for (const text of [JSON.stringify({ domains }, null, 2), JSON.stringify({ domains }), lines.join("\n")])
    expect(parseConfig(text, validate)).toMatchObject({ ok: true });
  expect(parse("- a\n".repeat(10_001))).toMatchObject({
    problems: [{ message: "It has more than 30000 parts." }],
  });
});

test.each([
  ["EACCES", "Let the user of this process read it, and enter its folders."],
  ["ENOENT", "Give the path of a domains file."],
])("the fix for a file that cannot be read says what to do: %s", (code, fix) => {
  const message = explainFileError(Object.assign(new Error(code), { code }), "read");
  const problems = [{ path: "", message }];
  const error = fileError("d.yaml", "domains", { ok: false, kind: "unreadable", problems });
  expect(error.issues[0]?.message).toBe(`${message} ${fix}`);
});
