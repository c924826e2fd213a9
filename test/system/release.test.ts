/** What the workflow `release.yml` does before the approval, in a copy of the repository. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT, runProgram, runSuccessfully } from "./installed.ts";

const BUILD = ".github/actions/release/build.sh";
const ENV = { GITHUB_REPOSITORY: "shop/orders" };
const folder = mkdtempSync(join(tmpdir(), "store-orders-release-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
const unreleased = changelog.replace(/^(## \d\S+) \(.*\)$/m, "$1 (unreleased)");

beforeAll(() => {
  const isSource = (path: string) => !/\/(node_modules|dist|\.data|\.git)$/.test(path);
  cpSync(ROOT, folder, { recursive: true, filter: isSource });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
});

test.each([
  ["another version than that of package.json", "v999.0.0", unreleased, "but the version in package.json is"],
  ["a version that the changelog does not list as released", `v${version}`, unreleased, "has no section"],
])("a tag of %s is not released", async (_what, tag, text, message) => {
  writeFileSync(join(folder, "CHANGELOG.md"), text);
  const { code, stdout } = await runProgram(folder, BUILD, [tag], ENV);
  expect(code).toBe(1);
  expect(stdout).toContain(message);
  rmSync(join(folder, "release"), { recursive: true, force: true });
});

test("a tag is built into a package that npm would publish, its bill of materials, and the notes of the version", async () => {
  writeFileSync(join(folder, "CHANGELOG.md"), unreleased.replace("(unreleased)", "(2026-12-01)"));
  await runSuccessfully(folder, BUILD, [`v${version}`], ENV);
  const archive = `store-orders-${version}.tgz`;
  expect(readdirSync(join(folder, "release")).toSorted()).toEqual(["notes.md", "sbom.json", archive]);

  const notes = readFileSync(join(folder, "release/notes.md"), "utf8");
  expect(unreleased).toContain(notes);
  expect(notes).toContain("The first release.");
  expect(notes).not.toMatch(/^## /m);
  const bill = JSON.parse(readFileSync(join(folder, "release/sbom.json"), "utf8"));
  expect(bill.components.length).toBeGreaterThan(100);

  const published = JSON.parse(
    await runSuccessfully(join(folder, "release"), "npm", ["publish", `./${archive}`, "--dry-run", "--json"]),
  );
  expect(JSON.stringify(published)).toContain(`store-orders@${version}`);
  const manifest = await runSuccessfully(folder, "tar", [
    "-xzOf",
    `release/${archive}`,
    "package/package.json",
  ]);
  expect(JSON.parse(manifest).repository).toEqual({
    type: "git",
    url: "git+https://github.com/shop/orders.git",
  });
});
