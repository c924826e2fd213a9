import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { AUTHORITIES } from "../../../lib/domains/verification/caa.ts";
import { formToken, postHeaders, signIn, useConsole } from "../../support/console.ts";

const FILE =
  "domains:\n  primary: orders.example.com\n  redirects:\n    - { from: www.example.com, to: orders.example.com, status: 301 }\n";

test("a host that is not verified becomes the primary only with the form of the question", async () => {
  const directory = mkdtempSync(join(tmpdir(), "console-role-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "domains.yaml");
  writeFileSync(path, FILE);
  const console = await useConsole({
    domains: {
      source: { kind: "file", path, plan: "pro", target: "platform.example.net" },
      resolver: async () => ({ outcome: "nodata" }),
      authorities: [AUTHORITIES.letsencrypt],
      probe: async () => ({ outcome: "unreachable", found: "" }),
    },
  });
  const cookie = await signIn(console);
  const token = await formToken(console, cookie);
  const post = async (fields: Readonly<Record<string, string>>) => {
    const body = new URLSearchParams({ token, ...fields });
    const headers = { ...postHeaders(console), cookie };
    const url = console.at("domains/www.example.com/role");
    return (await fetch(url, { method: "POST", headers, body })).text();
  };
  const shown = await (await fetch(console.at("domains/www.example.com"), { headers: { cookie } })).text();
  const version = /name="version" value="([^"]+)"/.exec(shown)?.[1] ?? "";

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
