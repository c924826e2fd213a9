import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseSettings, withDefaults } from "../../../infra/config/settings.ts";
import { InvalidInputError, type Issue } from "../../../lib/core/errors.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { readDomainsFile } from "../../../lib/files/domains-file.ts";
import { useCommandLine } from "../../support/command-line.ts";

const cli = useCommandLine();

/** A mapping on the plan Free, with a redirect to another party, one from the primary, and one host in two spellings. */
const INVALID = {
  primary: "Orders.Example.com",
  aliases: ["ORDERS.example.com"],
  redirects: [
    { from: "www.example.com", to: "elsewhere.example.org" },
    { from: "orders.example.com", to: "orders.example.com", status: 302 },
  ],
};

/** The issues that TypeScript reports, here without types. */
const issuesOf = (action: () => unknown): readonly Issue[] => {
  try {
    action();
  } catch (error) {
    if (error instanceof InvalidInputError) return error.issues;
    throw error;
  }
  return [];
};

/** The same issues in a domains file: the place also has the file and, at its end, the value. */
const inFile = (file: string, issues: readonly Issue[]) =>
  issues.map(({ path, message }) => ({
    path: expect.stringContaining(`${file}: ${path}`) as string,
    message,
  }));

const issues = issuesOf(() => defineDomains(INVALID as object, { plan: "free" }));

test("an invalid mapping is rejected in TypeScript, also if it was not validated before", () => {
  expect(issues.map(({ path, message }) => `${path}: ${message}`)).toMatchSnapshot();
  expect(issues.length).toBeGreaterThan(0);
  expect(issuesOf(() => withDefaults({ plan: "free", domains: INVALID } as object))).toEqual(issues);
});

test("an invalid mapping is rejected in a domains file and in a stack file with the same messages", () => {
  const file = join(cli.directory, "domains.yaml");
  writeFileSync(file, JSON.stringify({ domains: INVALID }));
  expect(issuesOf(() => readDomainsFile(file, "free"))).toEqual(inFile(file, issues));
  const values = { "store-orders:plan": "free", "store-orders:domains": JSON.stringify(INVALID) };
  const inStackFile = issues.map((issue) => ({ ...issue, path: `store-orders:${issue.path}` }));
  expect(parseSettings({ values, secretKeys: [] })).toMatchObject({ ok: false, issues: inStackFile });
});

test("the server reports every problem of a mapping before it creates anything", async () => {
  writeFileSync(join(cli.directory, "domains.yaml"), JSON.stringify({ domains: INVALID }));
  const { status, stdout, stderr } = await cli.run([
    ...["--json", "serve", "--port", "0", "--domains", "domains.yaml", "--plan", "free"],
  ]);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(JSON.parse(stderr).issues).toEqual(inFile("domains.yaml", issues));
  expect(existsSync(join(cli.directory, ".data"))).toBe(false);
});
