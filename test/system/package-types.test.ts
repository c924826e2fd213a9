import { cpSync, symlinkSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { ENTRIES } from "../support/entries.ts";
import { homeOfPackages } from "../support/install-packages.ts";
import { ROOT, runSuccessfully, typeErrors } from "./installed.ts";
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

/** Prints the errors of the declarations of each file, which is a program of its own. */
const DECLARE = `
const [compiler, ...files] = process.argv.slice(2);
const ts = require(compiler);
const parsed = new Map();
const { NodeNext } = ts.ModuleKind;
const options = { strict: true, declaration: true, module: NodeNext, target: ts.ScriptTarget.ES2022, types: [] };
const errors = files.flatMap((file) => {
  const host = ts.createCompilerHost(options);
  const parse = host.getSourceFile;
  host.getSourceFile = (path, how, ...rest) => {
    const key = JSON.stringify([path, how]);
    if (!parsed.has(key)) parsed.set(key, parse(path, how, ...rest));
    return parsed.get(key);
  };
  const program = ts.createProgram([file], options, host);
  return program.getDeclarationDiagnostics(program.getSourceFile(file)).map(({ messageText }) => messageText);
});
console.log(JSON.stringify(errors));
`;

describe("declarations", () => {
  test("what a program exports of any result has a type that it can name, with the layout of pnpm", async () => {
    const home = newFolderWith(installed, packagesOf("test/system/compilers/package.json"));
    const pnpm = (name: string) => join(home, "declared/node_modules/.pnpm", name, "node_modules", name);
    for (const name of ["store-orders", "zod"])
      cpSync(join(installed, "node_modules", name), pnpm(name), { recursive: true });
    symlinkSync(pnpm("zod"), join(dirname(pnpm("store-orders")), "zod"));
    symlinkSync(pnpm("store-orders"), join(home, "declared/node_modules/store-orders"));

    const files = await Promise.all(
      ENTRIES.map(async ({ name, source }, index) => {
        const lines = Object.entries(await import(join(ROOT, source))).map(([each, value]) => {
          const call = `await entry.${each}(...([] as unknown as Parameters<typeof entry.${each}>))`;
          const isFunction = typeof value === "function" && !/^class\b/.test(`${value}`);
          // What a program takes of a result, such as `orders` of a store, is exported alone as well.
          return `export const ${each}Value = entry.${each};
${isFunction ? `export const ${each} = ${call};\nexport const ${each}Fields = { ...${each} };` : ""}`;
        });
        const file = `entry${index}.ts`;
        const text = [`import * as entry from "${name}";`, ...lines].join("\n");
        await writeFile(join(home, "declared", file), text);
        return file;
      }),
    );
    await writeFile(join(home, "declared/package.json"), '{"type":"module"}');
    await writeFile(join(home, "declared/declare.cjs"), DECLARE);
    const compiler = join(home, "node_modules/typescript-5.9");
    const args = ["declare.cjs", compiler, ...files];
    const errors: string[] = JSON.parse(
      await runSuccessfully(join(home, "declared"), process.execPath, args),
    );
    const unnamed = errors.map((message) => /type of '(\w+)' .* to '(.*?)'/.exec(message)?.slice(1));
    // The schemas are zod's: see lib/http/README.md.
    expect(unnamed.filter((found) => !found?.[1]?.includes("/zod/"))).toEqual([]);
    const ofZod = new Set(unnamed.map((found) => found?.[0]));
    expect(ofZod).toEqual(new Set(["domainsSchemaValue", "orderSchemaValue"]));
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
