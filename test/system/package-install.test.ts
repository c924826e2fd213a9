/** Every line of the documents that installs a package beside ours, in a folder without any other. */
import { globSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { codeBlocks, DOCUMENTS, document, table } from "../documents/markdown.ts";
import { cloud } from "../infra/harness/cloud.ts";
import { run as runPulumi } from "../infra/harness/program.ts";
import { homeOfPackages } from "../support/install-packages.ts";
import { freeTcpPort } from "../support/postgres/server.ts";
import {
  copyInstalled,
  install,
  newFolder,
  ROOT,
  readJson,
  runProgram,
  runSuccessfully,
} from "./installed.ts";
import { LINKED_FROM, newFolderWith } from "./linked-packages.ts";

/** Where Yarn keeps what it has downloaded. */
const YARN = join(LINKED_FROM, "yarn");
const { devDependencies: versions = {} } = await readJson(join(ROOT, "package.json"));

/** What a program does first with an entry point that the installed packages are for, by these packages. */
const USES: Readonly<Record<string, string>> = {
  pg: 'await (await import("store-orders/postgres")).createPostgresStore({ connectionString: "postgres://127.0.0.1:9/x" }).close();',
  "@aws-sdk/client-dynamodb":
    'await (await import("store-orders/dynamodb")).createDynamodbStore({ prefix: "shop" }).close();',
  "swagger-ui-dist":
    'const page = (await import("store-orders/node")).docsPage(); if (!page("/docs", { method: "GET", url: "http://a/docs", headers: new Headers() })) throw 1;',
  "prom-client": '(await import("store-orders/metrics")).createMetrics();',
  standardwebhooks: 'await import("store-orders/webhooks");',
  "@pulumi/pulumi @pulumi/aws @pulumi/cloudflare esbuild @aws-sdk/client-dynamodb":
    'await (await import("store-orders/infra")).functionCode();',
  "@aws-sdk/client-eventbridge": 'await (await import("store-orders/infra")).functionCode({ events: true });',
};

/** The entry points with their lines: the packages of each. */
const rows = table("lib/http/README.md", "entry point", "contains", "install as well").rows.map(
  ([entry = "", , text = ""]) => ({ entry, lines: linesOf(text) }),
);

function linesOf(text: string): readonly string[] {
  return [...text.matchAll(/npm install ((?:@?[a-z][\w/.-]*(?: |\b))+)/g)].map(([, line = ""]) =>
    line.trim(),
  );
}

function pinned(name: string): string {
  return `${name}@${versions[name]}`;
}

/** A folder with the package. It is alone in another, whose packages it finds too. */
const newProject = (name: string) => copyInstalled(inject("installed"), join(name, "project"));

describe("the packages that the README says to install", () => {
  test("no document has a line that is not among them", () => {
    const known = rows.flatMap(({ lines }) => lines);
    expect(known.toSorted()).toEqual(Object.keys(USES).toSorted());
    const all = DOCUMENTS.flatMap(({ text }) => linesOf(text.replaceAll("`", "")));
    expect(all.filter((line) => !known.some((each) => line.startsWith(each)))).toEqual([]);
  });

  test.each(rows.filter(({ lines }) => lines.length > 0))("$entry", async ({ entry, lines }) => {
    const folder = newProject(entry.replace("/", " "));
    for (const line of lines) {
      await installLine(folder, line);
      await runSuccessfully(folder, process.execPath, ["--input-type=module", "-e", USES[line] ?? "throw 1"]);
    }
  });
});

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
      const packages = ["esbuild", "@aws-sdk/client-dynamodb", "@aws-sdk/client-eventbridge"].map(pinned);
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

      const command = ["store-orders", "health", "--port", String(await freeTcpPort())];
      const health = await runProgram(folder, process.execPath, [yarn, ...command], env);
      expect(health).toMatchObject({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
    },
  );
});

/** Installs the packages of a line. If the SDKs of Pulumi are among them, npm only has to find that all go together. */
async function installLine(folder: string, line: string): Promise<void> {
  const packages = line.split(" ").map(pinned);
  const others = packages.filter((name) => !name.startsWith("@pulumi/"));
  if (others.length < packages.length) {
    await install(folder, "--dry-run", ...packages);
    await linkSdks(folder);
  }
  await install(folder, ...others);
}

/**
 * Links the SDKs of Pulumi, which have hundreds of megabytes, to those of the repository. The link is above the folder
 * of the project, where npm does not see it.
 */
async function linkSdks(folder: string): Promise<void> {
  const above = join(dirname(folder), "node_modules");
  await mkdir(above);
  await symlink(join(ROOT, "node_modules/@pulumi"), join(above, "@pulumi"));
}
