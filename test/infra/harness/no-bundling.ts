/** Preloaded into programs whose test does not run the functions: replaces esbuild, because bundling takes long. */
import { registerHooks } from "node:module";

const SOURCE = `
export const build = async () => ({
  outputFiles: ["entry.mjs", "entry.mjs.map"].map((name) => ({ path: "/" + name, text: "" })),
});
`;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "esbuild") return next(specifier, context);
    return { url: "test:esbuild", format: "module", shortCircuit: true };
  },
  load(url, context, next) {
    if (url !== "test:esbuild") return next(url, context);
    return { format: "module", source: SOURCE, shortCircuit: true };
  },
});
