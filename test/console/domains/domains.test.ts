import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { DomainsOptions } from "../../../lib/console/domains/hosts.ts";
import { AUTHORITIES } from "../../../lib/domains/verification/caa.ts";
import { useSession } from "../../support/console.ts";

const FILE =
  "domains:\n  primary: orders.example.com\n  redirects:\n    - { from: www.example.com, to: orders.example.com, status: 301 }\n";

let path: string;
let console: Awaited<ReturnType<typeof useSession>>;
let version: string;
beforeEach(async () => {
  const directory = mkdtempSync(join(tmpdir(), "console-role-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  path = join(directory, "domains.yaml");
  writeFileSync(path, FILE);
  console = await start({ plan: "pro", target: "platform.example.net" });
  const shown = await console.textOf("domains/www.example.com");
  version = /name="version" value="([^"]+)"/.exec(shown)?.[1] ?? "";
});

function start(settings: Pick<DomainsOptions, "plan" | "target">) {
  return useSession({
    domains: {
      path,
      ...settings,
      resolver: async () => ({ outcome: "nodata" }),
      authorities: [AUTHORITIES.letsencrypt],
      probe: async () => ({ outcome: "unreachable", found: "" }),
    },
  });
}

test("a host that is not verified becomes the primary only with the form of the question", async () => {
  const post = async (fields: Readonly<Record<string, string>>) =>
    (await console.post("domains/www.example.com/role", fields)).text();
  const question = await post({ version, role: "primary" });
  expect(question).toContain("www.example.com is not verified");
  expect(readFileSync(path, "utf8")).toBe(FILE);

  const form = /<form[^>]*>(?:(?!<\/form>)[\s\S])*Make it the primary anyway/.exec(question)?.[0] ?? "";
  const fields = [...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  expect(await post(Object.fromEntries(fields))).toContain("www.example.com is now the primary.");
  expect(readFileSync(path, "utf8")).toContain("primary: www.example.com");
});

test.each([{ list: "" }, {}])(
  "a removal leads to the list, also from the page of the host (%j)",
  async (fields) => {
    const response = await console.post("domains/www.example.com/remove", { version, ...fields });
    const text = await response.text();
    expect([response.status, text.includes("<h1>Domains</h1>")]).toEqual([200, true]);
    expect(text).toContain("www.example.com has been removed and is not served any more.");
    expect(readFileSync(path, "utf8")).not.toContain("www.example.com");
  },
);

test("with a plan that has no domains, the page says which one to start with, and blames no file", async () => {
  console = await start({ plan: "free" });
  for (const address of ["domains", "domains/www.example.com"]) {
    const text = await console.textOf(address);
    expect(text).toContain("Custom domains need the plan pro");
    expect(text).toContain("Start the console again with --plan pro, the plan that &#39;serve&#39; has.");
    expect(text).not.toMatch(/has an error|Line \d|Change the plan/);
  }
});

test("without the target of the records, the list and the page of a host say what to start with, and offer no Verify", async () => {
  expect(await console.textOf("domains")).not.toContain("--target");
  console = await start({ plan: "pro" });
  for (const address of ["domains", "domains/www.example.com"]) {
    const text = await console.textOf(address);
    expect(text.split("Start it again with <code>--target HOST</code>"), address).toHaveLength(2);
    expect(text).not.toMatch(/choose Verify|\/verify"/);
  }
});
