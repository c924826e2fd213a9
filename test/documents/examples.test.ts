import { execFile } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { parseDomainsFile } from "../../lib/domains/parse.ts";
import { cloud } from "../infra/harness/cloud.ts";
import { run as runProgram } from "../infra/harness/program.ts";
import { startDnsServer } from "../support/dns-server.ts";
import { codeBlocks, DOCUMENTS, document, ROOT } from "./markdown.ts";

const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "store-orders-documents-"));
writeFileSync(join(folder, "package.json"), '{"type":"module"}');
symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = promisify(execFile);

/** The example with the sources in place of the package. */
function onSources(code: string): string {
  return code.replace(/from "store-orders(\/[\w/]+)?"/g, (_, entry = "") => {
    const built: string = exports[`.${entry}`].default;
    return `from "${join(ROOT, built.replace("./dist/", "").replace(/\.js$/, ".ts"))}"`;
  });
}

const examples = DOCUMENTS.flatMap(({ path, text }) =>
  codeBlocks({ path, text }, "ts").map((code, index) => {
    const file = join(folder, `${path.replaceAll(/\W/g, "-")}-${index + 1}.ts`);
    writeFileSync(file, onSources(code));
    return { title: `example ${index + 1} of ${path}`, code, file };
  }),
);

/** Runs programs in one process, each once nothing is left to do of the one before, and prints the name of each first. */
const RUNNER = `
  const files = process.argv.slice(1);
  let running = "";
  process.on("beforeExit", () => {
    if (running !== "") console.log(running + " waits for something that never comes");
    running = files.shift() ?? "";
    if (running === "") return;
    console.log("\\0" + running);
    setImmediate(() => import(running).catch(console.log).finally(() => { running = ""; }));
  });`;

const isProgram = (code: string) => !code.includes("store-orders/infra");

describe("programs", () => {
  const printed = new Map<string, readonly string[]>();
  beforeAll(async () => {
    const files = examples.filter(({ code }) => isProgram(code)).map(({ file }) => file);
    const args = ["--input-type=module", "--eval", RUNNER, ...files];
    const { stdout } = await run(process.execPath, args, { cwd: folder, timeout: 60_000 });
    for (const part of stdout.split("\0").slice(1)) {
      const [file = "", ...lines] = part.trim().split("\n");
      printed.set(file, lines);
    }
  });

  test.each(examples.filter(({ code }) => isProgram(code)))(
    "$title runs and prints what its comments promise",
    ({ code, file }) => {
      const promised = [...code.matchAll(/console\.log\(.*\/\/ (.+)$/gm)].map(([, line]) => line);
      expect(printed.get(file)).toEqual(promised);
    },
  );

  test("the examples of Pulumi programs deploy, here as parts of one program", async () => {
    await using dns = await startDnsServer("");
    const files = examples.filter(({ code }) => !isProgram(code)).map(({ file }) => file);
    expect(files).toHaveLength(3);
    for (const file of files) {
      const text = readFileSync(file, "utf8");
      writeFileSync(file, text.replace("domains })", `domains, resolver: "${dns.address}" })`));
    }
    const program = join(folder, "examples.ts");
    writeFileSync(program, files.map((file) => `await import("${file}");\n`).join(""));
    const { code, errors, registrations } = await runProgram({ program, stack: "staging", cloud: cloud() });
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const services = registrations.filter(({ type }) => type === "store-orders:infra:StoreOrders");
    expect(services.map(({ name }) => name)).toEqual(["orders-staging", "orders", "shop-production"]);
  });

  test("every example compiles under the settings of the project", async () => {
    // The same folder each time, where the compiler finds what it knows of the sources from the last time.
    const known = join(ROOT, "node_modules/.cache/store-orders/examples");
    mkdirSync(known, { recursive: true });
    const files = examples.map(({ code, file }) => {
      const path = join(known, basename(file));
      writeFileSync(path, onSources(code));
      return path;
    });
    const compilerOptions = {
      ...{ allowImportingTsExtensions: true, rewriteRelativeImportExtensions: false },
      ...{ declaration: false, isolatedDeclarations: false, incremental: true },
      typeRoots: [join(ROOT, "node_modules/@types")],
    };
    const settings = { extends: join(ROOT, "tsconfig.json"), compilerOptions, files, include: [] };
    writeFileSync(join(known, "tsconfig.json"), JSON.stringify(settings));
    // It runs for seconds, so it collects no garbage.
    const args = ["-p", known, "--singleThreaded"];
    const env = { ...process.env, GOGC: "off" };
    const { stdout } = await run(join(ROOT, "node_modules/.bin/tsc"), args, { env }).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe("");
  });
});

test("the gate in Express is that of the example, which a system test runs", () => {
  const example = readFileSync(join(ROOT, "test/examples/gate-in-express/main.ts"), "utf8").split("\n");
  const [shown = ""] = codeBlocks(document("lib/http/README.md"), "js");
  expect(shown).toContain("createGate({");
  expect(
    shown
      .trim()
      .split("\n")
      .filter((line) => !example.includes(line)),
  ).toEqual([]);
});

describe("domains files", () => {
  for (const { path, text } of DOCUMENTS) {
    for (const yaml of codeBlocks({ path, text }, "yaml").filter((code) => /^domains:/m.test(code))) {
      test(`the mapping in ${path} is valid`, () => {
        expect(parseDomainsFile(parse(yaml), { plan: "pro" })).toMatchObject({ ok: true });
      });
    }
  }
});

test("the index names every example, whose first lines say which database or tool it needs", () => {
  const needs = { DATABASE_URL: "DATABASE_URL", "createDynamodbStore(": "AWS_REGION", pulumi: "Pulumi CLI" };
  for (const home of globSync(join(ROOT, "test/examples/*/"))) {
    expect(document("test/examples/README.md").text).toContain(`\`${basename(home)}\``);
    const texts = globSync(join(home, "*.{ts,py,yaml}")).map((file) => readFileSync(file, "utf8"));
    const heads = texts.map((text) => text.split(/\nimport |\nname: /)[0]).join("\n");
    for (const [use, need] of Object.entries(needs))
      if (texts.some((text) => text.includes(use))) expect(heads, home).toContain(need);
  }
});
