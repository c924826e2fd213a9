import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { ENTRIES } from "../support/entries.ts";
import { homeOfPackages } from "../support/install-packages.ts";
import { runSuccessfully, typeErrors } from "./installed.ts";
import { newFolderWith, packagesOf } from "./linked-packages.ts";

const installed = inject("installed");

/**
 * Compiles like `tsc`, by each module resolution, and prints the errors. One process does it, so that a file is parsed
 * once. Its own libraries and the types of Node are not checked, and those of zod, which imports no package, once:
 * each takes longer than all others together.
 */
const COMPILE = `
const [compiler, ...resolutions] = process.argv.slice(2);
const ts = require(compiler);
const files = ["consumer.ts"];
const known = new Set();
const parsed = new Map();
const results = resolutions.map((resolution) => {
  const { options, errors } = ts.convertCompilerOptionsFromJson({
    strict: true,
    noEmit: true,
    target: "es2022",
    lib: ["es2022", "esnext.disposable", "dom"],
    module: resolution === "bundler" ? "esnext" : resolution,
    moduleResolution: resolution,
  }, ".");
  const host = ts.createCompilerHost(options);
  const parse = host.getSourceFile;
  host.getSourceFile = (file, how, ...rest) => {
    const key = JSON.stringify([file, how]);
    if (!parsed.has(key)) parsed.set(key, parse(file, how, ...rest));
    return parsed.get(key);
  };
  const program = ts.createProgram(files, options, host);
  const checked = program.getSourceFiles().filter(({ fileName }) => {
    if (/node_modules\\/(typescript-[^/]+|@types|undici-types)\\//.test(fileName) || known.has(fileName)) return false;
    if (/node_modules\\/zod\\//.test(fileName)) known.add(fileName);
    return true;
  });
  const found = [
    ...errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...checked.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
  ];
  return { resolution, errors: ts.formatDiagnostics(found, host) };
});
console.log(JSON.stringify(results));
`;

describe("types", () => {
  const free = ENTRIES.filter(({ peers }) => peers.length === 0).map(({ name }) => name);
  const imports = free.map((entry, index) => `import * as entry${index} from "${entry}";`);
  const consumer = `${imports.join("\n")}
import { type ApplyResult, createOrders } from "store-orders";
import { createMemoryStore } from "store-orders/memory";
export const entries = [${free.map((_, index) => `entry${index}`).join(", ")}];
const orders = createOrders({ store: createMemoryStore().orders });
export const result: ApplyResult = await orders.cancel(7n);
`;

  test("the types compile for a strict consumer", async () => {
    await writeFile(join(installed, "consumer.ts"), consumer);
    expect(await typeErrors(installed, ["consumer.ts"])).toBe("");
  });

  const home = newFolderWith(installed, packagesOf("test/system/compilers/package.json"));
  test.each([
    ["5.4", ["nodenext"]],
    ["5.6", ["nodenext"]],
    ["5.9", ["nodenext", "node16", "bundler"]],
  ])("the types compile under TypeScript %s with the module resolutions %j", async (version, resolutions) => {
    await writeFile(join(home, "consumer.ts"), consumer);
    await writeFile(join(home, "compile.cjs"), COMPILE);
    const args = ["compile.cjs", `typescript-${version}`, ...resolutions];
    const output = await runSuccessfully(home, process.execPath, args);
    expect(JSON.parse(output)).toEqual(resolutions.map((resolution) => ({ resolution, errors: "" })));
  });

  test("reject an identifier that is not a bigint", async () => {
    await writeFile(join(installed, "wrong.ts"), `${consumer}await orders.cancel(7);\n`);
    const output = await typeErrors(installed, ["wrong.ts"]);
    expect(output.match(/error TS/g)).toEqual(["error TS"]);
    expect(output).toContain("'number' is not assignable to parameter of type 'bigint'");
  });
});

describe("package linters", () => {
  const tool = (name: string) => join(homeOfPackages("system"), "node_modules/.bin", name);

  test("publint finds no problem", async () => {
    expect(await runSuccessfully(installed, tool("publint"), [inject("tarball"), "--strict"])).toContain(
      "All good!",
    );
  });

  test("Are The Types Wrong finds no problem in any entry", async () => {
    const output = await runSuccessfully(installed, tool("attw"), [
      inject("tarball"),
      "--profile",
      "esm-only",
      "--no-color",
    ]);
    expect(output.match(/node16 \(from ESM\): 🟢 \(ESM\)/g)).toHaveLength(ENTRIES.length);
  });
});
