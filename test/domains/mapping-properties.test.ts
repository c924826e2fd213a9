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
        expect(parsed.ok).toBe(valid);
        if (!parsed.ok) return;
        accepted++;
        expect(parsed.domains).toEqual({
          primary: normalize(primary),
          aliases: aliases.map(normalize),
          redirects: redirects.map(({ from }) => ({
            from: normalize(from),
            to: normalize(primary),
            status: 301,
          })),
        });
      }),
      { numRuns: 500 },
    );
    expect(accepted).toBeGreaterThan(20);
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
