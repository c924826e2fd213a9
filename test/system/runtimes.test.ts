/** The packed package on every runtime that the README names. */
import { cpSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, inject, test } from "vitest";
import { storeContract } from "../../lib/stores/contract/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { freePort } from "../support/free-port.ts";
import { ROOT, runProgram, runSuccessfully } from "./installed.ts";
import { newFolderWith, packagesOf, programOf } from "./linked-packages.ts";
import { startProgram } from "./program-process.ts";

const folder = newFolderWith(inject("installed"), packagesOf("test/system/runtimes/package.json"));
cpSync(join(ROOT, "test/system/runtimes"), folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** By the name of the runtime: the program and the arguments before a script. */
const programs = new Map<string, readonly string[]>([
  ["Node 22.13", [programOf("node-22.13")]],
  ["Node 22.16", [programOf("node-22.16")]],
  ["Node 24", [process.execPath]],
  ["Node 26", [programOf("node-26")]],
  ["Bun", [programOf("bun"), "run"]],
  ["Deno", [programOf("deno"), "run", "--allow-all", "--node-modules-dir=manual", "--no-lock"]],
]);

const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
const ENTRIES = Object.keys(manifest.exports)
  .filter((name) => !/\.json$|infra/.test(name))
  .map((name) => `store-orders${name.slice(1)}`);
const CASES = (
  await Promise.all(storeContract.map(async ({ check }) => (await check(createMemoryStore())) === undefined))
).filter(Boolean).length;

describe.each([
  { runtime: "Node 22.13", stores: ["memory"], command: false },
  { runtime: "Node 22.16", stores: ["memory", "sqlite"], command: true },
  { runtime: "Node 24", stores: ["memory", "sqlite"], command: true },
  { runtime: "Node 26", stores: ["memory", "sqlite"], command: true },
  { runtime: "Bun", stores: ["memory", "sqlite"], command: true },
  { runtime: "Deno", stores: ["memory", "sqlite"], command: true },
])("$runtime", ({ runtime, stores, command }) => {
  const [program = "", ...before] = programs.get(runtime) ?? [];
  const run = (...args: string[]) => runProgram(folder, program, [...before, ...args]);

  test(`loads every entry point, and passes the contract with ${stores.join(" and ")}, handler and client`, async () => {
    const database = stores.includes("sqlite") ? join(folder, `${runtime}.db`) : "";
    const { code, stdout, stderr } = await run("check.js", ENTRIES.join(), stores.join(), database);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      passed: Object.fromEntries(stores.map((store) => [store, CASES])),
      ids: ["9223372036854775807"],
      bodies: ["9223372036854775807", 413],
      codes: ["ok", "order_already_cancelled", ...(database === "" ? [] : ["StoreUnavailableError"])],
    });
  });

  const bin = "node_modules/store-orders/dist/cli/bin.js";
  if (command) {
    test("runs the command line on a database that it has written", async () => {
      const database = join(folder, `${runtime} command.db`);
      const commandLine = (...args: string[]) =>
        runSuccessfully(folder, program, [...before, bin, ...args, "--database", database]);
      await commandLine("accounts", "create", "shop", "--plan", "free");
      await commandLine("keys", "issue", "--account", "shop");
      expect(await commandLine("accounts", "list", "--json")).toContain(`"shop"`);
    });

    test("asks its own server with `health`, which fails once that has ended", async () => {
      const args = [...before, bin, "serve", "--database", join(folder, `${runtime} health.db`)];
      const env = { PORT: String(await freePort()) };
      const health = () => runProgram(folder, program, [...before, bin, "health", "--json"], env);
      const { stop } = await startProgram(program, args, { cwd: folder, ready: /\/v1/, env });
      expect(await health()).toMatchObject({ code: 0, stdout: expect.stringContaining('"status":200') });
      stop();
      await expect.poll(async () => (await health()).code).toBe(1);
    });
  } else if (runtime.startsWith("Node"))
    test("says in one line that the command line needs a newer Node", async () => {
      const { code, stdout, stderr } = await run(bin, "--help");
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^store-orders needs Node 22\.16 or newer; this is v22\.13\.0\.[^\n]*\n$/);
    });
});

test("Node 22.13 gets a clear error from the SQLite store", async () => {
  const [program = ""] = programs.get("Node 22.13") ?? [];
  const script =
    'import { createSqliteStore } from "store-orders/sqlite"; createSqliteStore({ path: "x.db" });';
  const { code, stderr } = await runProgram(folder, program, ["--input-type=module", "-e", script]);
  expect(code).toBe(1);
  expect(stderr).toContain("The SQLite store needs Node 22.16 or newer; this is v22.13.0.");
});
