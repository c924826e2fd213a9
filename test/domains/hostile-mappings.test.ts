import { expect, test } from "vitest";
import { parseHostname } from "../../lib/domains/hostname.ts";
import { domainsSchema, parseDomains } from "../../lib/domains/parse.ts";

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

const host = (index: number) => `h${index}.example.com`;

/** Redirects that form one loop, and the number of times that their fields were read. */
function createLoop(length: number) {
  const reads = { count: 0 };
  const redirects = Array.from({ length }, (_, index) => ({
    get from() {
      reads.count++;
      return host(index);
    },
    get to() {
      reads.count++;
      return host((index + 1) % length);
    },
  }));
  return { redirects, reads };
}

test.each(["redirects", "aliases"])("more than 500 %s are one issue, and are not read", (list) => {
  const { redirects, reads } = createLoop(20_000);
  const hosts = list === "aliases" ? redirects.map((_, index) => host(index)) : redirects;
  const mapping = { primary: "orders.example.com", [list]: hosts };
  expect(parseDomains(mapping, { plan: "pro", platformHost: host(7) })).toEqual({
    ok: false,
    code: "invalid_domains",
    issues: [
      {
        path: `domains.${list}`,
        message: `There are 20000 ${list}, but a project can have at most 500. Remove some of them.`,
      },
    ],
  });
  expect(reads.count).toBe(0);
  expect(domainsSchema.safeParse({ ...mapping, [list]: hosts.slice(0, 501) })).toMatchObject({
    success: false,
    error: { issues: [{ path: [list] }] },
  });
});

test("500 redirects are valid, and twice as many redirects in one loop take twice as many steps", () => {
  const redirects = Array.from({ length: 500 }, (_, index) => ({
    from: host(index),
    to: "orders.example.com",
  }));
  expect(parseDomains({ primary: "orders.example.com", redirects }, { plan: "pro" }).ok).toBe(true);
  const [half, whole] = [250, 500].map((length) => {
    const loop = createLoop(length);
    const parsed = parseDomains(
      { primary: "orders.example.com", redirects: loop.redirects },
      { plan: "pro" },
    );
    expect(parsed.ok ? [] : parsed.issues).toHaveLength(length);
    return loop.reads.count;
  });
  expect(whole).toBe(2 * (half ?? 0));
});

test("a hostname that is missing, no text, or only a dot is empty", () => {
  for (const text of [undefined, null, 5, "", "."]) {
    expect(parseHostname(text as string)).toMatchObject({ ok: false, code: "empty" });
  }
});
