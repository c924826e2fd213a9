/**
 * Preloaded into programs whose test does not run the functions. Replaces two packages that take long: esbuild, which
 * bundles the functions, and npm's tree reader, which Pulumi loads for functions that it serialises itself; we have none.
 */
import { registerHooks } from "node:module";

const SOURCES: Readonly<Record<string, string>> = {
  esbuild: `
export const build = async ({ entryPoints }) => ({
  outputFiles: Object.keys(entryPoints)
    .flatMap((name) => [["/" + name + ".mjs", ""], ["/" + name + ".mjs.map", '{"sources":[]}']])
    .map(([path, text]) => ({ path, text })),
});
`,
  "@npmcli/arborist": "",
};

registerHooks({
  resolve(specifier, context, next) {
    if (!(specifier in SOURCES)) return next(specifier, context);
    return { url: `test:${specifier}`, format: "module", shortCircuit: true };
  },
  load(url, context, next) {
    const source = SOURCES[url.slice("test:".length)];
    if (!url.startsWith("test:") || source === undefined) return next(url, context);
    return { format: "module", source, shortCircuit: true };
  },
});
