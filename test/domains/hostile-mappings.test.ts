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

const CASES_OF_IDNA: readonly [text: string, hostname: string | undefined][] = [
  // UTS 46 maps look-alikes of dots and letters, so that a name is accepted as a browser accepts it.
  ["example\uff0ecom", "example.com"],
  ["example\u3002com\uff61", "example.com"],
  ["\u212aelvin.example.com", "kelvin.example.com"],
  ["stra\u00dfe.example.com", "xn--strae-oqa.example.com"],
  ["\u00aa.example.com", "a.example.com"],
  // UTS 46 permits what RFC 5892 does not: a tone mark of Hangul, a symbol, a middle dot in any place.
  ["\uc2e4\u302e\ub840.\ud14c\uc2a4\ud2b8", "xn--07jt112bpxg.xn--9t4b11yi5a"],
  ["xn--07jt112bpxg.xn--9t4b11yi5a", "xn--07jt112bpxg.xn--9t4b11yi5a"],
  ["\u2603.example.com", "xn--n3h.example.com"],
  ["a\u00b7l.example.com", "xn--al-0ea.example.com"],
  ["ab--c.example.com", "ab--c.example.com"],
  // A label begins with a mark, has a joiner in a wrong place, or violates the rules for right to left.
  ["\u302e\uc2e4.example.com", undefined],
  ["\u0300a.example.com", undefined],
  ["\u0915\u200d\u0937.example.com", undefined],
  ["\u0915\u094d\u200c\u0937\u0915\u094d\u200d\u0937.example.com", "xn--11ba5hb1ic2781bla.example.com"],
  ["a\u05d0.example.com", undefined],
  ["0\u0627.example.com", undefined],
  ["\u05d00\u0660.example.com", undefined],
  ["xn--0ca24w.example.com", undefined],
  ["xn---9uc.example.com", undefined],
  // Each label is valid. How they look side by side (RFC 5893, section 2) is checked by no registry and no authority.
  ["0a.\u05d0", "0a.xn--4db"],
  ["0a.xn--4db.example.com", "0a.xn--4db.example.com"],
  ["a0.\u05d0.example.com", "a0.xn--4db.example.com"],
  ["\u05d00.example.com", "xn--0-zhc.example.com"],
  ["2026.\u65e5\u672c.example.com", "2026.xn--wgv71a.example.com"],
];

test.each(CASES_OF_IDNA)("the name %j is %j (UTS 46, RFC 5893)", (text, hostname) => {
  const parsed = parseHostname(text);
  expect(parsed.ok ? parsed.hostname : undefined).toBe(hostname);
  if (!parsed.ok) expect(parsed.code).toBe("invalid_idn");
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
  expect(parseDomains(mapping, { plan: "pro" })).toEqual({
    ok: false,
    code: "invalid_domains",
    issues: [
      {
        path: `domains.${list}`,
        message: `There can be at most 500 ${list}. Remove some of them.`,
      },
    ],
  });
  expect(reads.count).toBe(0);
  expect(domainsSchema.safeParse({ ...mapping, [list]: hosts.slice(0, 501) })).toMatchObject({
    success: false,
    error: { issues: [{ path: [list] }] },
  });
});

test("500 redirects or aliases are valid, and twice as many redirects in one loop take twice as many steps", () => {
  const redirects = Array.from({ length: 500 }, (_, index) => ({
    from: host(index),
    to: "orders.example.com",
  }));
  for (const hosts of [{ redirects }, { aliases: redirects.map(({ from }) => from) }])
    expect(parseDomains({ primary: "orders.example.com", ...hosts }, { plan: "pro" }).ok).toBe(true);
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
