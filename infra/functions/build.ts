import { fileURLToPath } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";

/** The deployed files by name, shared by both functions. */
export interface FunctionBundle {
  readonly "entry.mjs": string;
  readonly "entry.mjs.map": string;
}

/** Bundles into one self-contained ES module for Node 24. */
export const BUNDLE_OPTIONS = {
  bundle: true,
  write: false,
  format: "esm",
  platform: "node",
  target: "node24",
  // The ES modules of the AWS SDK can be tree-shaken, which saves a third.
  mainFields: ["module", "main"],
  minify: true,
  legalComments: "none",
} as const satisfies BuildOptions;

/** TypeScript in the repository, JavaScript in the published package. */
const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";

/**
 * Lambda passes credentials in the environment. The SDK's other credential providers (profiles, single sign-on, other
 * services) are a third of the bundle, so they are left out.
 */
const lambdaCredentials: Plugin = {
  name: "lambda-credentials",
  setup({ onLoad }) {
    onLoad({ filter: /@aws-sdk\/credential-provider-node\/dist-es\/index\.js$/ }, () => ({
      contents: 'export { fromEnv as defaultProvider } from "@aws-sdk/credential-provider-env";',
    }));
  },
};

/** Bundles the functions with everything they import, minified, with a source map. */
export async function buildFunctions(): Promise<FunctionBundle> {
  // Imported on use, so that programs that deploy no function need not install it.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    ...BUNDLE_OPTIONS,
    // Makes the output independent of the working directory.
    absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
    entryPoints: [`infra/functions/entry.${EXTENSION}`],
    outfile: "entry.mjs",
    sourcemap: "linked",
    sourcesContent: false,
    plugins: [lambdaCredentials],
  });
  const textOf = (name: string) => outputFiles.find(({ path }) => path.endsWith(`/${name}`))?.text ?? "";
  return { "entry.mjs": textOf("entry.mjs"), "entry.mjs.map": textOf("entry.mjs.map") };
}
