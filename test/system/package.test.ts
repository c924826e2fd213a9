import { execFileSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { delimiter, join, relative } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { DOCUMENTS, localLinks } from "../documents/markdown.ts";
import { ENTRIES } from "./entries.ts";
import { ROOT, runProgram, runSuccessfully } from "./installed.ts";

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
  test("without peers, only the package, zod and the public suffix list are installed", () => {
    const manifests = globSync(["node_modules/*/package.json", "node_modules/@*/*/package.json"], {
      cwd: installed,
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
    const home = join(installed, "node_modules/store-orders/dist");
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
          Number(await runSuccessfully(installed, "node", ["--input-type=module", "-e", script])),
        ).toBeGreaterThan(0);
      });
    } else {
      test(`${entry} without its peer fails with an error that names ${peer}`, async () => {
        const { code, stderr } = await runProgram(installed, "node", ["--input-type=module", "-e", script]);
        expect(code).toBe(1);
        expect(stderr).toContain(`Cannot find package '${peer}'`);
      });
    }
  }
});

describe("the command", () => {
  test("the command prints its usage", async () => {
    const output = await runSuccessfully(installed, "npx", ["--no-install", "store-orders", "--help"]);
    expect(output).toMatch(/^Usage: store-orders /);
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

  test("the command prints the required version on an older Node in one line, and exits with 1", async ({
    skip,
  }) => {
    const older = olderNode();
    if (older === undefined) {
      process.stderr.write("Skipped: no Node older than 24 is on the PATH.\n");
      skip("no Node older than 24 is on the PATH");
      return;
    }
    const bin = join(installed, "node_modules/store-orders/dist/cli/bin.js");
    const { code, stdout, stderr } = await runProgram(installed, older, [bin, "--help"]);
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
