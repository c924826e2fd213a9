import { expect, test } from "vitest";
import { parseHostname } from "../../lib/domains/hostname.ts";
import { parseDomains } from "../../lib/domains/parse.ts";

test("a label that mixes scripts with the same letters is rejected, in its own script and in punycode", () => {
  // The first letters are Cyrillic and Greek.
  for (const primary of ["\u043erders.example.com", "xn--rders-iye.example.com", "\u03bfrders.example.com"]) {
    const parsed = parseDomains({ primary }, { plan: "pro" });
    expect(parsed.ok ? "" : parsed.issues[0]?.message).toMatch(
      /^The label .rders \(xn--rders-\w+\) mixes Latin and (Cyrillic|Greek) letters, which look alike\. /,
    );
  }
  for (const primary of [
    "\u0437\u0430\u043a\u0430\u0437.example.com",
    "b\u00fccher.example.com",
    "\u6ce8\u6587orders.example.com",
  ]) {
    expect(parseDomains({ primary }, { plan: "pro" }).ok).toBe(true);
  }
});

test("a mapping of 20,000 redirects is validated in time, also if they form one loop", () => {
  const host = (index: number) => `h${index}.example.com`;
  const redirects = Array.from({ length: 20_000 }, (_, index) => ({
    from: host(index),
    to: host((index + 1) % 20_000),
  }));
  const parsed = parseDomains({ primary: "orders.example.com", redirects }, { plan: "pro" });
  expect(parsed.ok ? [] : parsed.issues).toHaveLength(20_000);
});

test("a hostname that is missing, no text, or only a dot is empty", () => {
  for (const text of [undefined, null, 5, "", "."]) {
    expect(parseHostname(text as string)).toMatchObject({ ok: false, code: "empty" });
  }
});
