import { describe, expect, test } from "vitest";
import { changeDomains } from "../../../lib/console/domains/change-domains.ts";
import type { DomainChange } from "../../../lib/console/domains/edit-document.ts";

const FILE = `# yaml-language-server: $schema=domains.schema.json
domains:
  primary: orders.example.com   # the shop

  # partners use it
  aliases: [api.example.com]
  redirects:
    # printed on the bags
    - { from: www.orders.example.com, to: orders.example.com, status: 301 }
    - from: "shop.example.com"
      to: Orders.Example.com.  # since 2024
# the end
`;

const change = (text: string, ...changes: readonly DomainChange[]) =>
  changes.reduce((before, each) => {
    const result = changeDomains(before, "pro", each);
    if (!result.ok) throw new Error(JSON.stringify(result));
    return result.text;
  }, text);

/** The lines that only one of two texts has. */
function difference(before: string, after: string): readonly string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

describe("a change leaves every other line as it was", () => {
  test.each<[string, DomainChange, readonly string[]]>([
    [
      "an alias is added",
      { kind: "add", host: "New.Example.com", role: "alias" },
      ["-   aliases: [api.example.com]", "+   aliases: [api.example.com, new.example.com]"],
    ],
    [
      "a redirect is added in the style of the last one",
      { kind: "add", host: "old.example.com", role: "redirect" },
      ["+     - from: old.example.com", "+       to: orders.example.com", "+       status: 301"],
    ],
    [
      "an alias is removed; the comment above its list stays",
      { kind: "remove", host: "api.example.com" },
      ["-   aliases: [api.example.com]", "+   aliases: []"],
    ],
    [
      "a redirect is removed with its own lines",
      { kind: "remove", host: "shop.example.com" },
      ['-     - from: "shop.example.com"', "-       to: Orders.Example.com.  # since 2024"],
    ],
    [
      "an alias becomes the primary, the old primary an alias, and every redirect leads to the new one",
      { kind: "set_role", host: "api.example.com", role: "primary" },
      [
        "-   primary: orders.example.com   # the shop",
        "-   aliases: [api.example.com]",
        "-     - { from: www.orders.example.com, to: orders.example.com, status: 301 }",
        "-       to: Orders.Example.com.  # since 2024",
        "+   primary: api.example.com # the shop",
        "+   aliases: [orders.example.com]",
        "+     - { from: www.orders.example.com, to: api.example.com, status: 301 }",
        "+       to: api.example.com # since 2024",
      ],
    ],
  ])("%s", (_, each, expected) => {
    expect(difference(FILE, change(FILE, each))).toEqual(expected);
  });

  test.each([
    "domains:\n  primary: 'a.example.com'\n  aliases:\n  # one\n  - 'b.example.com'\n",
    "domains:\r\n    primary: 'a.example.com'\r\n    aliases:\r\n        - 'b.example.com'\r\n",
  ])("indentation, line ends and quotes stay as they are: %j", (file) => {
    const [last = ""] = /.*'b.example.com'\r?\n$/.exec(file) ?? [];
    expect(change(file, { kind: "add", host: "c.example.com", role: "alias" })).toBe(
      file + last.replace("b.", "c."),
    );
  });

  test("a JSON file stays JSON", () => {
    const file = '{\n    "domains": {\n        "primary": "a.example.com"\n    }\n}\n';
    const changed = change(file, { kind: "add", host: "b.example.com", role: "redirect" });
    expect(JSON.parse(changed).domains.redirects).toEqual([
      { from: "b.example.com", to: "a.example.com", status: 301 },
    ]);
    expect(changed).toContain('\n        "primary": "a.example.com",\n');
  });
});

test("the first domain becomes the primary, and after the last removal the file is as before", () => {
  const added = change("domains: {}\n", { kind: "add", host: "a.example.com", role: "primary" });
  expect(added).toBe("domains:\n  primary: a.example.com\n");
  const more = change(
    added,
    { kind: "add", host: "b.example.com", role: "alias" },
    { kind: "add", host: "c.example.com", role: "redirect" },
    { kind: "set_role", host: "b.example.com", role: "redirect" },
  );
  expect(more).toBe(`domains:
  primary: a.example.com
  redirects:
    - { from: c.example.com, to: a.example.com, status: 301 }
    - { from: b.example.com, to: a.example.com, status: 301 }
`);
  expect(
    change(
      more,
      { kind: "remove", host: "b.example.com" },
      { kind: "remove", host: "c.example.com" },
      { kind: "remove", host: "a.example.com" },
    ),
  ).toBe("domains: {}\n");
});

describe("nothing is written", () => {
  test.each([
    ["http://a.example.com/", "This is a URL. Write only its hostname: a.example.com."],
    ["", "The hostname is empty. Write one such as orders.example.com."],
    [
      "api.example.com",
      "api.example.com is listed twice, first at domains.aliases[0]. Remove one of the two.",
    ],
    ["<script>alert(1)</script>", "This contains a path or query. Write only the hostname."],
    ["a.example.com\n  - b.example.com", "A hostname cannot contain spaces. Remove them."],
    ["&anchor", 'A hostname cannot contain "&". Use only letters, digits, hyphens and dots.'],
  ])("for %j: the rules of every domains file reject it", (host, message) => {
    const result = changeDomains(FILE, "pro", { kind: "add", host, role: "alias" });
    expect(result).toMatchObject({ ok: false, code: "invalid_domains" });
    expect(!result.ok && "issues" in result && result.issues.map((issue) => issue.message)).toEqual([
      message,
    ]);
  });

  test("for the primary while others need it, and for a plan without domains", () => {
    expect(changeDomains(FILE, "pro", { kind: "remove", host: "orders.example.com" })).toMatchObject({
      code: "invalid_domains",
    });
    expect(
      changeDomains("domains: {}", "free", { kind: "add", host: "a.example.com", role: "primary" }),
    ).toMatchObject({ code: "invalid_domains" });
  });

  test.each([
    ["a file with an error", "domains: [", "invalid_file"],
    ["anchors", "x: &x a.example.com\ndomains: { primary: *x }", "invalid_file"],
    [
      "anchors that are valid",
      "domains:\n  primary: &p a.example.com\n  redirects: [{ from: b.example.com, to: *p }]",
      "not_editable",
    ],
    ["a host that is not there any more", "domains: { primary: a.example.com }", "host_not_found"],
  ])("for %s", (_, text, code) => {
    const result = changeDomains(text, "pro", { kind: "remove", host: "b.example.com" });
    expect(result).toMatchObject({ ok: false, code });
  });
});
