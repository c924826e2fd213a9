import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { describe, expect, inject, test } from "vitest";
import { DOCUMENTS, localLinks } from "../documents/markdown.ts";
import { ENTRIES } from "../support/entries.ts";
import { newFolder, ROOT, runProgram, runSuccessfully } from "./installed.ts";
import { startProgram } from "./program-process.ts";

const installed = inject("installed");

/** The files of the installed package, relative to it. */
async function packedFiles(): Promise<readonly string[]> {
  const home = join(installed, "node_modules/store-orders");
  const found = await readdir(home, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(home, join(parentPath, name)));
}

describe("the installed package", () => {
  test("without peers, only the package, zod, the public suffix list and the hash library are installed", () => {
    const manifests = globSync(["node_modules/*/package.json", "node_modules/@*/*/package.json"], {
      cwd: installed,
    });
    const names = manifests.map((file) => file.split("/").slice(1, -1).join("/"));
    expect(names.sort()).toEqual(["@noble/hashes", "store-orders", "tldts", "tldts-core", "zod"]);
  });

  test("the package contains compiled modules with their declarations, documents, schemas and examples, and neither tests nor sources", async () => {
    const files = await packedFiles();
    expect(files.filter((file) => /\.test\.|\.map$|\.tgz$/.test(file))).toEqual([]);
    const built = files.filter((file) => file.startsWith("dist/"));
    expect(built.filter((file) => /\.ts$/.test(file) && !file.endsWith(".d.ts"))).toEqual([]);
    const others = files
      .filter(
        (file) =>
          !/^(dist|test\/examples\/[^/]+|lib\/node\/deploy|\.github\/(workflows|actions))\//.test(file),
      )
      .sort();
    const documents = DOCUMENTS.map(({ path }) => path);
    const pictures = ["infra/scale.svg", "lib/console/screenshot.png", "test/bench/growth.svg"];
    const schemas = ["lib/domains/domains.schema.json", "infra/config/stack.schema.json"];
    expect(others).toEqual([...documents, ...schemas, ...pictures, "LICENSE", "package.json"].sort());
  });

  test("every link in a packed document leads to a packed file", async () => {
    const files = await packedFiles();
    const isPacked = (path: string) => files.some((file) => file === path || file.startsWith(`${path}/`));
    const missing = DOCUMENTS.flatMap((from) =>
      localLinks(from)
        .filter(({ target }) => !isPacked(target))
        .map(({ target }) => `${from.path}: ${target}`),
    );
    expect(missing).toEqual([]);
  });

  test("scripts and styles of web pages are part of the modules that serve them, also in a bundle", async () => {
    const home = join(installed, "node_modules/store-orders/dist");
    const readers = globSync("**/*.js", { cwd: home }).filter((file) =>
      /readFileSync\d*\(new URL\(.*import\.meta\.url/.test(readFileSync(join(home, file), "utf8")),
    );
    expect(readers).toEqual([]);
    const file = join(await newFolder(), "bundle.mjs");
    const contents = `import { docsPage } from "store-orders/node";
      const request = { method: "GET", url: "http://localhost/", headers: new Headers() };
      for (const name of ["page.js", "page.css"]) {
        const { body } = await docsPage()("/docs/" + name, request);
        process.stdout.write(Buffer.from(body));
      }`;
    const stdin = { contents, resolveDir: installed };
    await build({ stdin, outfile: file, bundle: true, format: "esm", platform: "node", logLevel: "error" });
    const sources = ["page.js", "page.css"].map((name) =>
      readFileSync(join(ROOT, "lib/node/docs", name), "utf8"),
    );
    expect(await runSuccessfully(installed, "node", [file])).toBe(sources.join(""));
  });

  test("every packed module of the library has its declarations", () => {
    const home = join(installed, "node_modules/store-orders/dist");
    const modules = globSync(["lib/**/*.js", "infra/**/*.js"], { cwd: home });
    expect(modules.length).toBeGreaterThan(100);
    expect(modules.filter((file) => !existsSync(join(home, file.replace(/\.js$/, ".d.ts"))))).toEqual([]);
  });
});

/** What loads the peers of an entry that does not need them if it gets a pool, for example. */
const FIRST_USE: Readonly<Record<string, string>> = {
  "store-orders/postgres":
    'await entry.createPostgresStore({ connectionString: "postgres://127.0.0.1/x" }).check()',
};

describe("the entries", () => {
  for (const { name: entry, peers } of ENTRIES) {
    const use = FIRST_USE[entry] ?? "";
    const script = `const entry = await import("${entry}"); ${use}; console.log(Object.keys(entry).length)`;
    if (peers.length === 0) {
      test(`${entry} is imported without any other package`, async () => {
        expect(
          Number(await runSuccessfully(installed, "node", ["--input-type=module", "-e", script])),
        ).toBeGreaterThan(0);
      });
    } else {
      test(`${entry} without its peers fails with an error that names one of them`, async () => {
        const { code, stderr } = await runProgram(installed, "node", ["--input-type=module", "-e", script]);
        expect(code).toBe(1);
        const [, missing] = /Cannot find package '([^']+)'/.exec(stderr) ?? [];
        expect(peers).toContain(missing);
      });
    }
  }
});

describe("the command", () => {
  test("the command prints its usage", async () => {
    const output = await runSuccessfully(installed, "npx", ["--no-install", "store-orders", "--help"]);
    expect(output).toMatch(/^Usage: store-orders /);
  });

  test("the demo serves orders to the key that it prints", async () => {
    const folder = join(installed, "demo");
    await mkdir(folder);
    const args = ["--no-install", "store-orders", "serve", "--demo", "--port", "0"];
    const ready = /^try .*'(Authorization: Bearer \S+)' (\S+)$/m;
    const { output, stop } = await startProgram("npx", args, { cwd: folder, ready });
    try {
      const [, header = "", url = ""] = ready.exec(output()) ?? [];
      const response = await fetch(url, { headers: [header.split(": ") as [string, string]] });
      expect(response.status).toBe(200);
      expect(await response.json()).toHaveLength(5);
    } finally {
      stop();
    }
  });

  test("a command whose optional package is not installed exits with 2 and says how to install it", async () => {
    const args = ["--no-install", "store-orders", "tables", "create", "--dynamodb", "trial"];
    const { code, stdout, stderr } = await runProgram(installed, "npx", args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Run 'npm install @aws-sdk/client-dynamodb'");
  });

  test("comes with the licences of the packages that are bundled into it", async () => {
    const notices = await readFile(
      join(installed, "node_modules/store-orders/dist/cli/LICENSES.txt"),
      "utf8",
    );
    const names = [...notices.matchAll(/(?:^|-\n\n)(\S+) \d+\.\d+\.\d+\n/g)].map(([, name]) => name);
    const expected = ["@opentelemetry/api", "commander", "hono", "idiomorph", "prom-client", "yaml", "zod"];
    expect(names).toEqual(expect.arrayContaining(expected));
    expect(notices).not.toContain("The package has no licence file");
    expect(notices).toContain("Apache License");
  });
});
