import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";
import { invalidInput } from "../../lib/core/errors.ts";

/** The two functions of the API, and what they load on demand. */
const MODULES = {
  entry: "infra/functions/entry",
  openapi: "lib/http/openapi",
  "v2-preview": "lib/http/v2-preview",
};

const EVENTS = { events: "infra/functions/events" };

export interface BundleOptions {
  /** The path of a module to use instead of ours, which exports `api` and `list`. @default ours */
  readonly entry?: string | undefined;
  /** Adds the function that sends changes, for the setting `events`. @default false */
  readonly events?: boolean;
}

/** Parts of the SDK that the functions never use, almost half of it, and their replacements. */
const UNUSED_PARTS: readonly (readonly [module: RegExp, replacement: string])[] = [
  // Lambda passes credentials in the environment: there are no profiles and no single sign-on.
  [
    /@aws-sdk\/credential-provider-node\/dist-es\/index\.js$/,
    'export { fromEnv as defaultProvider } from "@aws-sdk/credential-provider-env";',
  ],
  // DynamoDB has no event streams, and its endpoints are discovered only for a client that asks for it.
  [
    /@smithy\/core\/dist-es\/submodules\/event-streams\/index\.js$/,
    "export class EventStreamSerde {}; export const eventStreamSerdeProvider = undefined;",
  ],
  [/@aws-sdk\/endpoint-cache\/dist-es\/index\.js$/, "export class EndpointCache {}"],
];

const withoutUnusedParts: Plugin = {
  name: "without-unused-parts",
  setup({ onLoad }) {
    for (const [filter, contents] of UNUSED_PARTS) onLoad({ filter }, () => ({ contents }));
    // The client names its version in the user agent, and bundles its whole manifest for it.
    onLoad({ filter: /@aws-sdk\/client-dynamodb\/package\.json$/ }, async ({ path }) => {
      const { version } = JSON.parse(await readFile(path, "utf8"));
      return { contents: JSON.stringify({ version }), loader: "json" };
    });
  },
};

/** What is loaded on demand is a module of its own: the OpenAPI document, and the preview of v2. */
const withModulesApart: Plugin = {
  name: "with-modules-apart",
  setup({ onResolve }) {
    onResolve({ filter: /\/(openapi|v2-preview)\.[jt]s$/ }, ({ kind, path }) =>
      kind === "dynamic-import"
        ? { path: `./${basename(path).replace(/\.[jt]s$/, ".mjs")}`, external: true }
        : undefined,
    );
  },
};

/** An import of `node:http` or `node:https` reads every export, of which `WebSocket` loads Node's `fetch`. */
const withoutFetch: Plugin = {
  name: "without-fetch",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?https?$/ }, ({ path }) => ({ path, namespace: "builtin" }));
    onLoad({ filter: /./, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("${path}");`,
    }));
  },
};

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
  // The caller reports errors.
  logLevel: "silent",
  plugins: [withoutUnusedParts, withModulesApart, withoutFetch],
} satisfies BuildOptions;

const OWN_ENTRY = "See infra/README.md#functions-of-your-own.";

/** TypeScript in the repository, JavaScript in the published package. */
const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";

/** The modules by file name, minified, and source maps, which are not deployed: to parse one takes a tenth of a cold start. */
export async function buildFunctions(options: BundleOptions = {}): Promise<Readonly<Record<string, string>>> {
  const { entry, events = false } = options;
  // Imported on use, so that programs that deploy no function need not install it.
  const { build } = await import("esbuild");
  const home = fileURLToPath(new URL("../..", import.meta.url));
  if (entry !== undefined && !existsSync(entry))
    throw invalidInput("entry", `There is no module ${entry}. ${OWN_ENTRY}`);
  const modules = Object.entries({ ...MODULES, ...(events && EVENTS) });
  const entryPoints = modules.map(([module, source]) => [module, join(home, `${source}.${EXTENSION}`)]);
  const alias = entry === undefined || EXTENSION === "js" ? {} : await sourceByExport(home);
  const { outputFiles, metafile } = await build({
    ...BUNDLE_OPTIONS,
    alias,
    entryPoints: { ...Object.fromEntries(entryPoints), ...(entry && { entry: resolve(entry) }) },
    metafile: true,
    outdir: home,
    outExtension: { ".js": ".mjs" },
    sourcemap: "external",
    sourcesContent: false,
  });
  if (entry !== undefined) {
    const [, bundled] =
      Object.entries(metafile.outputs).find(([path]) => basename(path) === "entry.mjs") ?? [];
    const missing = ["api", "list"].filter((role) => bundled?.exports.includes(role) !== true);
    if (missing.length > 0)
      throw invalidInput("entry", `${entry} does not export ${missing.join(" and ")}. ${OWN_ENTRY}`);
    const text = outputFiles.find(({ path }) => basename(path) === "entry.mjs")?.text ?? "";
    const refused = ["api", "list"].filter((role) => countParameters(text, role) > 2);
    const problem = `${refused.join(" and ")} in ${entry} has more than two parameters. Lambda's Node 24 refuses functions with a callback: take event and context, and return a promise.`;
    if (refused.length > 0) throw invalidInput("entry", problem);
  }
  return Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text]));
}

/** The parameters of a function that a bundle exports, as far as it is written there and not made by another function. */
function countParameters(bundle: string, name: string): number {
  const [, found = name] = new RegExp(`\\bexport\\s*\\{[^}]*?([\\w$]+) as ${name}\\b`).exec(bundle) ?? [];
  const local = found.replaceAll("$", "\\$");
  const head = new RegExp(`(?:\\bfunction ${local}|[^\\w$.]${local}=(?:async ?)?(function[^(]*)?)\\(`).exec(
    bundle,
  );
  if (head === null) return 0;
  let [at, depth, count] = [head.index + head[0].length, 1, 1];
  for (; depth > 0 && at < bundle.length; at++) {
    const character = bundle[at] ?? "";
    if ("([{".includes(character)) depth++;
    else if (")]}".includes(character)) depth--;
    else if (character === "," && depth === 1) count++;
  }
  const isFunction = head[0].includes("function") || bundle.startsWith("=>", at);
  return isFunction ? count : 0;
}

/** In the repository, an own module's `store-orders/http` is `lib/http/index.ts`, built or not. */
async function sourceByExport(home: string): Promise<Record<string, string>> {
  const manifest = JSON.parse(await readFile(join(home, "package.json"), "utf8"));
  const entries = Object.entries<{ readonly default: string }>(manifest.exports);
  const modules = entries.filter(([, file]) => typeof file === "object");
  return Object.fromEntries(
    modules.map(([name, { default: file }]) => [
      `store-orders${name.slice(1)}`,
      join(home, file.replace("./dist/", "").replace(/js$/, "ts")),
    ]),
  );
}
