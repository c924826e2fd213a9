import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const PROGRAM = `import { createPostgresStore } from "${resolve("lib/stores/postgres/index.ts")}";
  const store = createPostgresStore({ connectionString: "postgres://127.0.0.1:1/shop" });
  const error = await store.check().catch((thrown) => thrown);
  await store.close();
  console.log(JSON.stringify([error.code, error.retryable, error.message]));`;
const REQUIRE = 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "store-orders-driver-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const missing = [
  ...["store_unavailable", false],
  expect.stringMatching(/^The driver cannot be loaded\. Run 'npm install pg'\. .* leave pg external, /),
];
const unreachable = ["store_unavailable", true, "The database cannot be used."];

test.each<[string, BuildOptions, readonly unknown[]]>([
  ["without pg", { external: ["pg"] }, missing],
  ["that has pg in a bundle of ES modules", {}, missing],
  ["of the same with a banner that defines require", { banner: { js: REQUIRE } }, unreachable],
])("a program %s learns what to do, or reaches for the server", async (name, options, expected) => {
  const outfile = join(folder, `${name}.mjs`);
  const stdin = { contents: PROGRAM, resolveDir: resolve(".") };
  await build({
    stdin,
    bundle: true,
    format: "esm",
    platform: "node",
    outfile,
    logLevel: "error",
    ...options,
  });
  expect(JSON.parse(execFileSync(process.execPath, [outfile], { encoding: "utf8" }))).toEqual(expected);
});

test("JSON is sent as text, as another driver serializes a value for a parameter of the type jsonb again", () => {
  for (const name of readdirSync("lib/stores/postgres"))
    expect(readFileSync(join("lib/stores/postgres", name), "utf8"), name).not.toMatch(/\$\d+::jsonb/);
});
