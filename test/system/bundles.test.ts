import { symlinkSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, inject, test } from "vitest";
import { copyInstalled, ROOT, runSuccessfully } from "./installed.ts";

const installed = inject("installed");

/** Bundles a module for a platform without Node. Returns the minified size and the files of what it loads at its start. */
async function bundle(code: string) {
  const { metafile, outputFiles } = await build({
    stdin: { contents: code, resolveDir: installed },
    bundle: true,
    // What is loaded on demand is a file of its own.
    splitting: true,
    outdir: "out",
    minify: true,
    format: "esm",
    platform: "browser",
    external: ["node:*"],
    metafile: true,
    write: false,
  });
  const atStart = new Set(["out/stdin.js"]);
  for (const file of atStart)
    for (const { kind, path } of metafile.outputs[file]?.imports ?? [])
      if (kind === "import-statement") atStart.add(path);
  const outputs = [...atStart].flatMap((file) => metafile.outputs[file] ?? []);
  const inputs = outputs.flatMap(({ inputs: used }) =>
    Object.entries(used).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  const needsNode = outputFiles.some(({ text }) => /(from|import) ?"node:/.test(text));
  return { bytes: outputs.reduce((sum, { bytes }) => sum + bytes, 0), inputs, needsNode };
}

describe("a bundle for browsers", () => {
  test.each([
    ["transition", "store-orders", 1_500],
    ["transition", "store-orders/orders", 1_500],
    ["orderSchema", "store-orders", 75_000],
    ["defineDomains", "store-orders/domains", 240_000],
    ["createHandler", "store-orders/http", 48 * 1_024],
  ])("a bundle with %s from %s has at most %i bytes", async (name, entry, maxBytes) => {
    const { bytes, needsNode } = await bundle(`import { ${name} } from "${entry}"; console.log(${name});`);
    expect(bytes).toBeLessThanOrEqual(maxBytes);
    expect(needsNode).toBe(false);
  });

  for (const entry of ["orders", "plans", "http", "memory", "client", "testing"]) {
    test(`a bundle with store-orders/${entry} contains no other package and no Node module`, async () => {
      const { inputs, needsNode } = await bundle(
        `import * as entry from "store-orders/${entry}"; console.log(entry);`,
      );
      expect(inputs.length).toBeGreaterThan(3);
      expect(inputs.filter((file) => /node_modules\/(?!store-orders\/)/.test(file))).toEqual([]);
      expect(needsNode).toBe(false);
    });
  }
});

test("the documentation page works in a CommonJS bundle, which has no import.meta", async () => {
  const home = copyInstalled(installed, "documented");
  const vendor = "node_modules/swagger-ui-dist";
  symlinkSync(join(ROOT, vendor), join(home, vendor));
  const contents = `
    import { createHandler } from "store-orders/http";
    import { createMemoryStore } from "store-orders/memory";
    import { docsPage } from "store-orders/node";
    const handler = createHandler({ store: createMemoryStore(), documents: docsPage() });
    handler(new Request("http://localhost/docs"))
      .then((response) => response.text())
      .then((text) => console.log(text));`;
  const outfile = join(home, "bundle.cjs");
  const options = { bundle: true, platform: "node", format: "cjs", logLevel: "error" } as const;
  await build({ ...options, stdin: { contents, resolveDir: home }, outfile });
  expect(await runSuccessfully(home, "node", [outfile])).toContain("<title>Store Orders API</title>");
  expect(await runSuccessfully("/", "node", [outfile])).toContain("docsPage({ resolve: require.resolve })");
});

describe("loading an entry in Node", () => {
  async function loadedBy(entry: string): Promise<readonly string[]> {
    const script = `
      import { registerHooks } from "node:module";
      const loaded = [];
      registerHooks({
        resolve(specifier, context, next) {
          if (!specifier.startsWith(".") && !specifier.startsWith("store-orders")) loaded.push(specifier);
          return next(specifier, context);
        },
      });
      await import("${entry}");
      console.log(JSON.stringify(loaded));`;
    return JSON.parse(await runSuccessfully(installed, "node", ["--input-type=module", "-e", script]));
  }

  test.each(["node", "sqlite", "lambda"])("store-orders/%s loads no other package", async (entry) => {
    const packages = (await loadedBy(`store-orders/${entry}`)).filter((name) => !isBuiltin(name));
    expect(packages).toEqual([]);
  });

  test.each([
    ["store-orders", ["zod", "tldts", "@noble"]],
    ["store-orders/domains", ["zod", "tldts"]],
    ["store-orders/accounts", ["@noble"]],
  ])("%s loads %j only", async (entry, expected) => {
    const packages = (await loadedBy(entry)).filter((name) => !name.startsWith("node:"));
    expect(new Set(packages.map((name) => name.split("/")[0]))).toEqual(new Set(expected));
  });
});
