import { fileURLToPath } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";

/** The files that both functions are deployed as, by name. */
export interface FunctionBundle {
  readonly "entry.mjs": string;
  readonly "entry.mjs.map": string;
}

/** How code becomes one ES module for Node 24 that needs nothing beside it. */
export const bundling = {
  bundle: true,
  write: false,
  format: "esm",
  platform: "node",
  target: "node24",
  // The vendor's ES modules: what is not used of them stays out, a third of the whole.
  mainFields: ["module", "main"],
  minify: true,
  legalComments: "none",
} as const satisfies BuildOptions;

/** TypeScript in the repository, JavaScript in the published package. */
const SOURCE = import.meta.url.endsWith(".ts") ? "ts" : "js";

/**
 * Lambda gives a function its credentials in the environment and nowhere else. The other places that the vendor's
 * library would look at (profiles, single sign-on, other services) are a third of the bundle and stay out.
 */
const lambdaCredentials: Plugin = {
  name: "lambda-credentials",
  setup({ onLoad }) {
    onLoad({ filter: /@aws-sdk\/credential-provider-node\/dist-es\/index\.js$/ }, () => ({
      contents: 'export { fromEnv as defaultProvider } from "@aws-sdk/credential-provider-env";',
    }));
  },
};

/** Bundles the functions' entry with all that it imports, minified, with a source map. */
export async function buildFunctions(): Promise<FunctionBundle> {
  // Loaded here, so that a program that takes one component alone need not install it.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    ...bundling,
    // Whatever folder this is called from, the same sources make the same bytes.
    absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
    entryPoints: [`infra/functions/entry.${SOURCE}`],
    outfile: "entry.mjs",
    sourcemap: "linked",
    sourcesContent: false,
    plugins: [lambdaCredentials],
  });
  const textOf = (name: string) => outputFiles.find(({ path }) => path.endsWith(`/${name}`))?.text ?? "";
  return { "entry.mjs": textOf("entry.mjs"), "entry.mjs.map": textOf("entry.mjs.map") };
}
