import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseSettings, withDefaults } from "../../../infra/config/settings.ts";
import { InvalidInputError, type Issue } from "../../../lib/core/errors.ts";
import { type DomainContext, defineDomains } from "../../../lib/domains/parse.ts";
import { readDomainsFile } from "../../../lib/files/domains-file.ts";
import { useCommandLine } from "../../support/command-line.ts";

const cli = useCommandLine();

const PRIMARY = "Orders.Example.com";
/** By name: a mapping that is invalid in one way, with its plan. The last one combines all of them. */
const INVALID: Readonly<Record<string, readonly [DomainContext["plan"], unknown]>> = {
  "custom hosts on the plan Free": ["free", { primary: PRIMARY }],
  "a redirect to another party": [
    "pro",
    { primary: PRIMARY, redirects: [{ from: "www.example.com", to: "elsewhere.example.org" }] },
  ],
  "a redirect from the primary": [
    "pro",
    { primary: PRIMARY, redirects: [{ from: "orders.example.com", to: "orders.example.com" }] },
  ],
  "one host in two spellings": ["pro", { primary: PRIMARY, aliases: ["orders.example.com."] }],
  "all of these": [
    "free",
    {
      primary: PRIMARY,
      aliases: ["ORDERS.example.com"],
      redirects: [
        { from: "www.example.com", to: "elsewhere.example.org" },
        { from: "orders.example.com", to: "orders.example.com", status: 302 },
      ],
    },
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

describe.each(Object.entries(INVALID))("the mapping with %s", (_name, [plan = "free", domains]) => {
  const issues = issuesOf(() => defineDomains(domains as object, { plan }));

  test("an invalid mapping is rejected in TypeScript, also if it was not validated before", () => {
    expect(issues.map(({ path, message }) => `${path}: ${message}`)).toMatchSnapshot();
    expect(issues.length).toBeGreaterThan(0);
    expect(issuesOf(() => withDefaults({ plan, domains } as object))).toEqual(issues);
  });

  test("an invalid mapping is rejected in a domains file and in a stack file with the same messages", () => {
    const file = join(cli.directory, "domains.yaml");
    writeFileSync(file, JSON.stringify({ domains }));
    expect(issuesOf(() => readDomainsFile(file, plan))).toEqual(inFile(file, issues));
    const values = { "store-orders:plan": plan, "store-orders:domains": JSON.stringify(domains) };
    const inStackFile = issues.map((issue) => ({ ...issue, path: `store-orders:${issue.path}` }));
    expect(parseSettings({ values, secretKeys: [] })).toMatchObject({ ok: false, issues: inStackFile });
  });
});

test("the server reports every problem of a mapping before it creates anything", async () => {
  const [plan = "free", domains] = INVALID["all of these"] ?? [];
  const issues = issuesOf(() => defineDomains(domains as object, { plan }));
  writeFileSync(join(cli.directory, "domains.yaml"), JSON.stringify({ domains }));
  const { status, stdout, stderr } = await cli.run([
    ...["--json", "serve", "--port", "0", "--domains", "domains.yaml", "--plan", plan],
  ]);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(JSON.parse(stderr).issues).toEqual(inFile("domains.yaml", issues));
  expect(existsSync(join(cli.directory, ".data"))).toBe(false);
});
