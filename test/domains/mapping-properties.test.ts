import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDomains } from "../../lib/domains/parse.ts";

const context = { plan: "pro" } as const;

describe("generated mappings", () => {
  const plain = ["a.example.com", "b.example.com", "c.example.org", "xn--bcher-kva.example.com"];
  const spelled = fc.constantFrom(
    ...plain,
    "A.example.com.",
    "bücher.example.com",
    "B.EXAMPLE.COM",
    "localhost",
  );
  const normalize = (host: string) =>
    host.toLowerCase().replace(/\.$/, "").replace("bücher", "xn--bcher-kva");
  const mapping = fc.record({
    primary: spelled,
    aliases: fc.array(spelled, { maxLength: 2 }),
    redirects: fc.array(fc.record({ from: spelled, to: spelled }), { maxLength: 3 }),
  });
  const coherent = mapping.map((value) => ({
    ...value,
    redirects: value.redirects.map(({ from }) => ({ from, to: value.primary })),
  }));

  test("a mapping is valid exactly if no host is listed twice and every redirect leads to the primary", () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(mapping, coherent), ({ primary, aliases, redirects }) => {
        const hosts = [primary, ...aliases, ...redirects.map(({ from }) => from)].map(normalize);
        const valid =
          new Set(hosts).size === hosts.length &&
          redirects.every(({ to }) => normalize(to) === normalize(primary)) &&
          !hosts.includes("localhost");
        const parsed = parseDomains({ primary, aliases, redirects }, context);
        if (parsed.ok) accepted++;
        expect(parsed.ok).toBe(valid);
      }),
      { numRuns: 500 },
    );
    expect(accepted).toBeGreaterThan(20);
  });

  test("a valid mapping has no loop, no duplicate and no redirect from the primary", () => {
    fc.assert(
      fc.property(fc.oneof(mapping, coherent), (value) => {
        const parsed = parseDomains(value, context);
        if (!parsed.ok) return;
        const { primary = "", aliases, redirects } = parsed.domains;
        const hosts = [primary, ...aliases, ...redirects.map(({ from }) => from)];
        expect(new Set(hosts).size).toBe(hosts.length);
        const next = new Map(redirects.map(({ from, to }) => [from, to]));
        for (const { from, to, status } of redirects) {
          expect({ to, status, onward: next.get(to) }).toEqual({
            to: primary,
            status: 301,
            onward: undefined,
          });
          expect(from).not.toBe(to);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("parsing a parsed mapping returns the same mapping", () => {
    fc.assert(
      fc.property(coherent, (value) => {
        const parsed = parseDomains(value, context);
        if (parsed.ok) expect(parseDomains(parsed.domains, context)).toEqual(parsed);
      }),
    );
  });

  test("parsing any value returns a mapping or issues with paths, and never throws", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (value) => {
        const parsed = parseDomains(value, context);
        if (!parsed.ok) for (const { path } of parsed.issues) expect(path).toMatch(/^domains/);
      }),
    );
  });
});
