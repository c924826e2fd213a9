import { execFileSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DOCUMENTS, localLinks } from "../documents/markdown.ts";
import { install, newFolder, packInto, ROOT, runProgram, runSuccessfully, typeErrors } from "./installed.ts";

/** Every entry point, with the first peer dependency that it needs. */
const ENTRIES: Readonly<Record<string, string | undefined>> = {
  "store-orders": undefined,
  "store-orders/orders": undefined,
  "store-orders/plans": undefined,
  "store-orders/accounts": undefined,
  "store-orders/domains": undefined,
  "store-orders/http": undefined,
  "store-orders/memory": undefined,
  "store-orders/sqlite": undefined,
  "store-orders/dynamodb": "@aws-sdk/client-dynamodb",
  "store-orders/node": undefined,
  "store-orders/metrics": "prom-client",
  "store-orders/lambda": undefined,
  "store-orders/client": undefined,
  "store-orders/infra": "@pulumi/aws",
  "store-orders/contract": undefined,
};

let folder = "";
let packed = "";
let tarball = "";

beforeAll(async () => {
  packed = await newFolder();
  tarball = await packInto(packed);
  folder = join(packed, "clean");
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), '{"type":"module","private":true}');
  await install(folder, tarball);
}, 240_000);

afterAll(() => rm(packed, { recursive: true, force: true }));

/** The files of the installed package, relative to it. */
async function packedFiles(): Promise<readonly string[]> {
  const home = join(folder, "node_modules/store-orders");
  const found = await readdir(home, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(home, join(parentPath, name)));
}

describe("the installed package", () => {
  test("without peers, only the package, zod and the public suffix list are installed", () => {
    const manifests = globSync(["node_modules/*/package.json", "node_modules/@*/*/package.json"], {
      cwd: folder,
    });
    const names = manifests.map((file) => file.split("/").slice(1, -1).join("/"));
    expect(names.sort()).toEqual(["store-orders", "tldts", "tldts-core", "zod"]);
  });

  test("the package contains compiled modules with their declarations, documents, schemas and examples, and neither tests nor sources", async () => {
    const files = await packedFiles();
    expect(files.filter((file) => /\.test\.|\.map$|\.tgz$/.test(file))).toEqual([]);
    const built = files.filter((file) => file.startsWith("dist/"));
    expect(built.filter((file) => /\.ts$/.test(file) && !file.endsWith(".d.ts"))).toEqual([]);
    const others = files
      .filter(
        (file) => !/^(dist|test\/examples|lib\/node\/deploy|\.github\/(workflows|actions))\//.test(file),
      )
      .sort();
    const documents = DOCUMENTS.map(({ path }) => path);
    const pictures = ["infra/scale.svg", "lib/console/screenshot.png", "test/bench/growth.svg"];
    const schemas = ["lib/domains/domains.schema.json", "infra/config/stack.schema.json"];
    expect(others).toEqual([...documents, ...schemas, ...pictures, "LICENSE", "package.json"].sort());
  });

  test("every link in a packed document leads to a packed file, except to sources; the README has none of those", async () => {
    const files = await packedFiles();
    const isPacked = (path: string) => files.some((file) => file === path || file.startsWith(`${path}/`));
    const missing = DOCUMENTS.flatMap((from) =>
      localLinks(from)
        .filter(({ target }) => !isPacked(target) && (from.path === "README.md" || !target.endsWith(".ts")))
        .map(({ target }) => `${from.path}: ${target}`),
    );
    expect(missing).toEqual([]);
  });

  test("every packed module of the library has its declarations", () => {
    const home = join(folder, "node_modules/store-orders/dist");
    const modules = globSync(["lib/**/*.js", "infra/**/*.js"], { cwd: home });
    expect(modules.length).toBeGreaterThan(100);
    expect(modules.filter((file) => !existsSync(join(home, file.replace(/\.js$/, ".d.ts"))))).toEqual([]);
  });
});

describe("the entries", () => {
  test("the entries are the expected ones", async () => {
    const { exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    const names = Object.keys(exports).map((path) => path.replace(".", "store-orders"));
    expect(names).toEqual([...Object.keys(ENTRIES), "store-orders/package.json"]);
  });

  for (const [entry, peer] of Object.entries(ENTRIES)) {
    const script = `console.log(Object.keys(await import("${entry}")).length)`;
    if (peer === undefined) {
      test(`${entry} is imported without any other package`, async () => {
        expect(
          Number(await runSuccessfully(folder, "node", ["--input-type=module", "-e", script])),
        ).toBeGreaterThan(0);
      });
    } else {
      test(`${entry} without its peer fails with an error that names ${peer}`, async () => {
        const { code, stderr } = await runProgram(folder, "node", ["--input-type=module", "-e", script]);
        expect(code).toBe(1);
        expect(stderr).toContain(`Cannot find package '${peer}'`);
      });
    }
  }
});

describe("the command", () => {
  test("the command prints its usage", async () => {
    const output = await runSuccessfully(folder, "npx", ["--no-install", "store-orders", "--help"]);
    expect(output).toMatch(/^Usage: store-orders /);
  });

  test("comes with the licences of the packages that are bundled into it", async () => {
    const notices = await readFile(join(folder, "node_modules/store-orders/dist/cli/LICENSES.txt"), "utf8");
    const names = [...notices.matchAll(/(?:^|-\n\n)(\S+) \d+\.\d+\.\d+\n/g)].map(([, name]) => name);
    const expected = ["@opentelemetry/api", "commander", "hono", "idiomorph", "prom-client", "yaml", "zod"];
    expect(names).toEqual(expect.arrayContaining(expected));
    expect(notices).not.toContain("The package has no licence file");
    expect(notices).toContain("Apache License");
  });

  test("the command prints the required version on an older Node in one line, and exits with 1", async ({
    skip,
  }) => {
    const older = olderNode();
    if (older === undefined) {
      process.stderr.write("Skipped: no Node older than 24 is on the PATH.\n");
      skip("no Node older than 24 is on the PATH");
      return;
    }
    const bin = join(folder, "node_modules/store-orders/dist/cli/bin.js");
    const { code, stdout, stderr } = await runProgram(folder, older, [bin, "--help"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^store-orders needs Node 24 or newer; this is v\d+\.\d+\.\d+\.[^\n]*\n$/);
  });
});

/** The first Node on the PATH that is too old, if there is one. */
function olderNode(): string | undefined {
  const found = (process.env["PATH"] ?? "").split(delimiter).map((place) => join(place, "node"));
  return found.filter(existsSync).find((node) => {
    const version = execFileSync(node, ["--version"], { encoding: "utf8" });
    return Number.parseInt(version.slice(1), 10) < 24;
  });
}

describe("types", () => {
  const free = Object.keys(ENTRIES).filter((entry) => ENTRIES[entry] === undefined);
  const imports = free.map((entry, index) => `import * as entry${index} from "${entry}";`);
  const consumer = `${imports.join("\n")}
import { type ApplyResult, createOrders } from "store-orders";
import { createMemoryStore } from "store-orders/memory";
export const entries = [${free.map((_, index) => `entry${index}`).join(", ")}];
const orders = createOrders({ store: createMemoryStore().orders });
export const result: ApplyResult = await orders.cancel(7n);
`;

  test("the types compile for a strict consumer", async () => {
    await writeFile(join(folder, "consumer.ts"), consumer);
    expect(await typeErrors(folder, ["consumer.ts"])).toBe("");
  });

  test.each([
    ["nodenext", "nodenext"],
    ["node16", "node16"],
    ["esnext", "bundler"],
  ])(
    "the types compile under TypeScript 5.9 with module %s and moduleResolution %s",
    async (module, resolution) => {
      const home = join(packed, "typescript-5.9");
      if (!existsSync(home)) {
        await mkdir(home);
        await writeFile(join(home, "package.json"), '{"type":"module","private":true}');
        await writeFile(join(home, "consumer.ts"), consumer);
        await install(home, tarball, "typescript@5.9.3", "@types/node@24.19.2");
      }
      const flags = ["--strict", "--noEmit", "--target", "es2024", "--lib", "es2024,esnext.disposable,dom"];
      const modules = ["--module", module, "--moduleResolution", resolution];
      const compiler = join(home, "node_modules/.bin/tsc");
      const { stdout } = await runProgram(home, compiler, [...flags, ...modules, "consumer.ts"]);
      expect(stdout).toBe("");
    },
  );

  test("reject an identifier that is not a bigint", async () => {
    await writeFile(join(folder, "wrong.ts"), `${consumer}await orders.cancel(7);\n`);
    const output = await typeErrors(folder, ["wrong.ts"]);
    expect(output.match(/error TS/g)).toEqual(["error TS"]);
    expect(output).toContain("'number' is not assignable to parameter of type 'bigint'");
  });
});

describe("package linters", () => {
  const tool = (name: string) => join(ROOT, "node_modules/.bin", name);

  test("publint finds no problem", async () => {
    expect(await runSuccessfully(folder, tool("publint"), [tarball, "--strict"])).toContain("All good!");
  });

  test("Are The Types Wrong finds no problem in any entry", async () => {
    const output = await runSuccessfully(folder, tool("attw"), [
      tarball,
      "--profile",
      "esm-only",
      "--no-color",
    ]);
    expect(output.match(/node16 \(from ESM\): 🟢 \(ESM\)/g)).toHaveLength(Object.keys(ENTRIES).length);
  });
});
