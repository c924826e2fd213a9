/** The bundles of the functions, with packages that npm does not put beside ours as usual. */
import { globSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { codeBlocks, document } from "../documents/markdown.ts";
import { cloud } from "../infra/harness/cloud.ts";
import { run as runPulumi } from "../infra/harness/program.ts";
import { freePort } from "../support/free-port.ts";
import { homeOfPackages } from "../support/install-packages.ts";
import { newFolder, ROOT, readJson, runProgram, runSuccessfully } from "./installed.ts";
import { LINKED_FROM, newFolderWith } from "./linked-packages.ts";

/** Where Yarn keeps what it has downloaded. */
const YARN = join(LINKED_FROM, "yarn");
const { devDependencies: versions = {} } = await readJson(join(ROOT, "package.json"));

describe("the functions", () => {
  let home = "";
  beforeAll(async () => {
    home = await newFolder();
  });
  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
    for (const packed of globSync("cache/store-orders-*", { cwd: YARN })) await rm(join(YARN, packed));
  });

  /** A folder with the package beside others, and the SDKs of Pulumi. */
  async function newProgram(...packages: string[]): Promise<string> {
    const named = Object.fromEntries(packages.map((name) => [name, versions[name] ?? ""]));
    const folder = newFolderWith(inject("installed"), named);
    await symlink(join(ROOT, "node_modules/@pulumi"), join(folder, "node_modules/@pulumi"));
    return folder;
  }

  test("are not bundled without a package that they contain, which the error names", async () => {
    const folder = await newProgram("esbuild");
    const script = 'await (await import("store-orders/infra")).functionCode();';
    const { code, stderr } = await runProgram(folder, process.execPath, [
      "--input-type=module",
      "-e",
      script,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('Could not resolve "@aws-sdk/client-dynamodb"');
  });

  test("are bundled and deployed by a CommonJS program", async () => {
    const folder = await newProgram("esbuild", "@aws-sdk/client-dynamodb");
    await writeFile(join(folder, "package.json"), '{"type":"commonjs"}');
    const [program = ""] = codeBlocks(document("infra/README.md"), "js");
    await writeFile(join(folder, "index.js"), program);
    const outcome = await runPulumi({
      program: join(folder, "index.js"),
      stack: "production",
      config: {},
      cloud: cloud(),
      bundle: true,
    });
    expect({ code: outcome.code, errors: outcome.errors }).toEqual({ code: 0, errors: "" });
    expect(outcome.stackOutputs["baseUrl"]).toMatch(/\/live\/v1$/);
  });

  test.each(["in the project", "in the home folder"])(
    "are bundled under Yarn's Plug'n'Play with its cache %s, the same as with npm",
    async (cache) => {
      const folder = join(home, `yarn ${cache}`);
      await mkdir(folder);
      const yarn = join(homeOfPackages("system"), "node_modules/@yarnpkg/cli-dist/bin/yarn.js");
      const env = {
        YARN_ENABLE_TELEMETRY: "0",
        YARN_ENABLE_GLOBAL_CACHE: String(cache === "in the home folder"),
        YARN_GLOBAL_FOLDER: YARN,
      };
      const run = (...args: string[]) => runSuccessfully(folder, process.execPath, [yarn, ...args], env);
      await writeFile(join(folder, "package.json"), '{"private":true}');
      await writeFile(join(folder, "yarn.lock"), "");
      const packages = ["esbuild", "@aws-sdk/client-dynamodb", "@aws-sdk/client-eventbridge"].map(
        (name) => `${name}@${versions[name]}`,
      );
      await run("add", `store-orders@file:${inject("tarball")}`, ...packages);
      const script = `
        import { createRequire } from "node:module";
        const manifest = createRequire(import.meta.url).resolve("store-orders/package.json");
        const { buildFunctions } = await import(manifest.replace("package.json", "dist/infra/functions/build.js"));
        console.log(JSON.stringify(await buildFunctions({ events: true })));`;
      await writeFile(join(folder, "bundle.mjs"), script);
      const bundled = JSON.parse(await run("node", "bundle.mjs"));
      expect(Object.keys(bundled)).toContain("events.mjs");
      expect(JSON.parse(bundled["entry.mjs.map"]).sources).toContain("lib/http/handler.js");
      const deployed = Object.entries(bundled).filter(([file]) => file.endsWith(".mjs"));
      expect(JSON.stringify(deployed)).not.toContain("/yarn");

      const command = ["store-orders", "health", "--port", String(await freePort())];
      const health = await runProgram(folder, process.execPath, [yarn, ...command], env);
      expect(health).toMatchObject({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
    },
  );
});
