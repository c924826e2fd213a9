import { expect } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseDomains } from "../../lib/domains/parse.ts";

/** Expects that the lines below `domains:` of a domains file have exactly these issues: by path, what to do. */
export function expectIssues(yaml: string, expected: Readonly<Record<string, string>>): void {
  const parsed = parseDomains(parseYaml(yaml), { plan: "pro" });
  const issues = parsed.ok ? [] : parsed.issues;
  expect(Object.fromEntries(issues.map(({ path, message }) => [path, message]))).toEqual(expected);
  expect(issues).toHaveLength(Object.keys(expected).length);
}
