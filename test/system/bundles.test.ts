import { build } from "esbuild";
import { describe, expect, inject, test } from "vitest";
import { runSuccessfully } from "./installed.ts";

const installed = inject("installed");

/** Bundles a module for a platform without Node. Returns its minified size and the files in it. */
async function bundle(code: string) {
  const { metafile, outputFiles } = await build({
    stdin: { contents: code, resolveDir: installed },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    external: ["node:*"],
    metafile: true,
    write: false,
  });
  const text = outputFiles[0]?.text ?? "";
  const inputs = Object.values(metafile.outputs).flatMap(({ inputs: used }) =>
    Object.entries(used).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  return { bytes: text.length, inputs, needsNode: /(from|import) ?"node:/.test(text) };
}

describe("a bundle for browsers", () => {
  test("a bundle with one rule from the barrel has at most 2 KB", async () => {
    const code = 'import { transition } from "store-orders"; console.log(transition);';
    const { bytes, needsNode } = await bundle(code);
    expect(bytes).toBeLessThanOrEqual(2_000);
    expect(needsNode).toBe(false);
  });

  for (const entry of ["orders", "plans", "accounts", "http", "memory", "client"]) {
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

describe("loading an entry in Node", () => {
  /** The packages and Node modules that an entry loads. */
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

  test.each(["orders", "plans", "accounts", "http", "memory", "client"])(
    "store-orders/%s loads no other package and no Node module",
    async (entry) => {
      expect(await loadedBy(`store-orders/${entry}`)).toEqual([]);
    },
  );

  test.each(["node", "sqlite", "lambda"])("store-orders/%s loads no other package", async (entry) => {
    const packages = (await loadedBy(`store-orders/${entry}`)).filter((name) => !name.startsWith("node:"));
    expect(packages).toEqual([]);
  });

  test.each(["store-orders", "store-orders/domains"])("%s loads zod and tldts only", async (entry) => {
    const packages = (await loadedBy(entry)).filter((name) => !name.startsWith("node:"));
    expect(new Set(packages.map((name) => name.split("/")[0]))).toEqual(new Set(["zod", "tldts"]));
  });
});
