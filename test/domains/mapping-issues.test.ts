import { expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseDomains } from "../../lib/domains/parse.ts";

/** Mappings as the lines below `domains:` of a domains file; below each, its issues with their paths. `P` is the primary. */
const CASES = `
~
  : Write a mapping with 'primary', or {} to have no custom host.
orders.example.com
  : Write a mapping with 'primary', or {} to have no custom host.
[orders.example.com]
  : Write a mapping with 'primary', or {} to have no custom host.
{ aliases: [a.example.com] }
  primary: Write the primary, such as orders.example.com: aliases and redirects need one.
{ redirects: [{ from: a.example.com, to: b.example.com }] }
  primary: Write the primary, such as orders.example.com: aliases and redirects need one.
{ primary: }
  primary: Write a hostname such as orders.example.com.
{ primary: 443 }
  primary: Write a hostname such as orders.example.com.
{ primary: , aliases: [a.example.com] }
  primary: Write a hostname such as orders.example.com.
{ P, alias: [a.example.com] }
  alias: Unknown key. Did you mean 'aliases'? Otherwise remove it.
{ P, redirects: [{ from: www.example.com, to: orders.example.com, code: 301 }] }
  redirects[0].code: Unknown key. Remove it, or use one of: from, to, status.
{ P, aliases: a.example.com }
  aliases: Write a list of hostnames, or omit it.
{ P, aliases: }
  aliases: Write a list of hostnames, or omit it.
{ P, redirects: { from: www.example.com, to: orders.example.com } }
  redirects: Write a list of redirects, or omit it.
{ P, redirects: [www.example.com] }
  redirects[0]: Write a mapping with 'from' and 'to'.
{ P, redirects: [{ from: www.example.com }] }
  redirects[0].to: Write a hostname such as orders.example.com.
{ P, redirects: [{ to: orders.example.com }] }
  redirects[0].from: Write a hostname such as orders.example.com.
{ P, redirects: [{ from: www.example.com, to: orders.example.com, status: 302 }] }
  redirects[0].status: Write 301, or omit it: redirects are permanent.
{ P, redirects: [{ from: www.example.com, to: orders.example.com, status: "301" }] }
  redirects[0].status: Write 301, or omit it: redirects are permanent.
{ P, aliases: [ORDERS.example.com.] }
  aliases[0]: orders.example.com is listed twice, first at domains.primary. Remove one of the two.
{ P, aliases: [bücher.example.com, xn--bcher-kva.example.com] }
  aliases[1]: xn--bcher-kva.example.com is listed twice, first at domains.aliases[0]. Remove one of the two.
{ P, redirects: [{ from: a.example.com, to: orders.example.com }, { from: A.example.com, to: orders.example.com }] }
  redirects[1].from: a.example.com is listed twice, first at domains.redirects[0].from. Remove one of the two.
{ P, aliases: [www.example.com], redirects: [{ from: www.example.com, to: orders.example.com }] }
  redirects[0].from: www.example.com is listed twice, first at domains.aliases[0]. Remove one of the two.
{ P, redirects: [{ from: orders.example.com, to: orders.example.com }] }
  redirects[0].from: orders.example.com is the primary, which cannot redirect. Remove this redirect, or choose another primary.
{ P, redirects: [{ from: www.example.com, to: orders.example.com }, { from: orders.example.com, to: www.example.com }] }
  redirects[1].from: orders.example.com is the primary, which cannot redirect. Remove this redirect, or choose another primary.
{ P, redirects: [{ from: www.example.com, to: evil.example.org }] }
  redirects[0].to: A host can redirect only to the primary. Write orders.example.com.
{ P, redirects: [{ from: x.example.com, to: a.example.com }, { from: a.example.com, to: A.example.com. }] }
  redirects[0].to: A host can redirect only to the primary. Write orders.example.com.
  redirects[1].to: a.example.com redirects to itself. Redirect it to the primary, orders.example.com.
{ primary: co.uk, aliases: ["*.example.com"], redirects: [{ from: b.example.com, to: c.example.com, status: 302 }], extra: 1 }
  primary: co.uk is a public suffix, under which others register names. Use a name of your own, such as orders.example.com.
  aliases[0]: Wildcards are not supported. List each host by its full name.
  redirects[0].status: Write 301, or omit it: redirects are permanent.
  extra: Unknown key. Remove it, or use one of: primary, aliases, redirects.
`;

const cases = [...CASES.matchAll(/^(\S.*)\n((?: {2}.*\n)+)/gm)].map(([, mapping = "", issues = ""]) => {
  const lines = issues.trim().split(/\n\s*/);
  return [
    mapping,
    lines.map((line) => (line.startsWith(":") ? `domains${line}` : `domains.${line}`)),
  ] as const;
});

test.each(cases)("the mapping %s is rejected with each path and the fix", (mapping, issues) => {
  const yaml = parseYaml(mapping.replace("{ P", "{ primary: orders.example.com"));
  const parsed = parseDomains(yaml, { plan: "pro" });
  const found = parsed.ok ? [] : parsed.issues.map(({ path, message }) => `${path}: ${message}`);
  expect(found.toSorted()).toEqual(issues.toSorted());
});
