import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { assignTargets, readZones } from "../../lib/cli/commands/domains.ts";
import { readPlansFile } from "../../lib/cli/plans-file.ts";
import { InvalidInputError } from "../../lib/core/errors.ts";
import { readDomainsFile } from "../../lib/files/domains-file.ts";
import { PLAN_LIMITS } from "../../lib/plans/plan-limits.ts";

const folder = mkdtempSync(join(tmpdir(), "store-orders-inputs-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The issues of an input, as `path: message`. */
async function issuesOf(action: () => unknown): Promise<readonly string[]> {
  try {
    await action();
  } catch (error) {
    if (error instanceof InvalidInputError)
      return error.issues.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

describe("targets", () => {
  test("the host of a pair is read like those of a domains file, in any spelling", () => {
    const names = ["xn--bcher-kva.example.com", "a.example.com"];
    const hosts = names.map((host) => ({ host, role: "alias" }) as const);
    const targets = assignTargets(hosts, ["Bücher.example.com.=B.example.net", "c.example.net"]);
    expect(targets.map(({ target }) => target)).toEqual(["b.example.net", "c.example.net"]);
    expect(readZones(["www.bücher.example=xn--bcher-kva.example"])).toEqual(
      new Map([["www.xn--bcher-kva.example", "xn--bcher-kva.example"]]),
    );
  });

  const hosts = [{ host: "a.example.com", role: "primary" } as const];
  test.each([
    ["", '--target: "": The hostname is empty.'],
    ["a.example.com", "--target: a.example.com is one of the domains. Give the platform host"],
    ["a.example.com=A.example.com.", "--target: a.example.com is one of the domains. Give the platform host"],
    ["a.example.com=", "--target: a.example.com=: Write HOST=VALUE"],
  ])("%j is rejected", async (target, expected) => {
    expect(await issuesOf(() => assignTargets(hosts, [target]))).toEqual([expect.stringContaining(expected)]);
  });
});

describe("a domains file", () => {
  const read = (text: string) => {
    const file = join(folder, "domains.yaml");
    writeFileSync(file, text);
    return issuesOf(() => readDomainsFile(file, "pro"));
  };

  test("a domains file with a key twice is rejected with its place", async () => {
    const [issue] = await read("domains:\n  primary: a.example.com\n  primary: b.example.com\n");
    expect(issue).toMatch(/neither YAML nor JSON \(line 3, column 3\): Map keys must be unique\.$/);
  });

  test("an error repeats the first 100 characters of a long value", async () => {
    const [issue] = await read(`domains: { primary: "${"😀".repeat(100)}${"b".repeat(100_000)}" }`);
    expect(issue).toMatch(/: domains\.primary: '(?:😀){100}…': This is not a valid/u);
  });

  test("a domains file with an unknown tag is rejected without a warning of the parser", async () => {
    const warnings: unknown[] = [];
    const listen = (warning: unknown) => warnings.push(warning);
    process.on("warning", listen);
    expect(await read("domains: !!js/function x\n")).toEqual([
      expect.stringContaining("Write a mapping with 'primary', or {} to have no custom host."),
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listen);
    expect(warnings).toEqual([]);
  });
});

describe("a plans file", () => {
  const path = join(folder, "plans.yaml");
  const read = (content: string) => {
    writeFileSync(path, content);
    return readPlansFile(path);
  };

  test("its plans are added to the standard ones, as YAML or JSON, and may replace one", () => {
    const starter = { perMinute: 30, perDay: 500 };
    const expected = { ...PLAN_LIMITS, starter, partner: "custom", free: starter };
    expect(read(`starter: &s { perMinute: 30, perDay: 500 }\npartner: custom\nfree: *s`)).toEqual(expected);
    expect(read(JSON.stringify({ starter, partner: "custom", free: starter }))).toEqual(expected);
    expect(read("{}")).toEqual(PLAN_LIMITS);
  });

  test.each([
    ["starter: { perMinute: 0, perDay: 1 }", ["starter.perMinute: '0'"], "whole number"],
    ["starter: { perMinute: 1, perDay: x }", ["starter"], "Give perMinute and perDay, or 'custom'"],
    ["starter: 5\nother: null", ["starter: '5'", "other"], "Give perMinute and perDay, or 'custom'"],
    [
      "starter: { perMinute: 1, perDay: 1, perHour: 1 }",
      ["starter.perHour: '1'"],
      "use one of: perMinute, perDay",
    ],
    [Array.from({ length: 17 }, (_, each) => `p${each}: custom`).join("\n"), [""], "Give 1 to 20 plans."],
    ["- starter", [""], "Give a mapping from the name of each plan"],
    ["a: [", [""], "The file is neither YAML nor JSON"],
  ])("%j is reported with the places and what to write", async (content, places, hint) => {
    const issues = await issuesOf(() => read(content));
    expect(issues).toHaveLength(places.length);
    for (const [index, place] of places.entries()) {
      expect(issues[index]?.startsWith([path, place].filter(Boolean).join(": "))).toBe(true);
      expect(issues[index]).toContain(hint);
    }
  });
});
