import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import nodeModule from "node:module";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";
import { invalidInput } from "../../lib/core/errors.ts";

/** The modules of each bundle: the two functions of the API with what they load on demand, and the one that sends changes. */
const BUNDLES = {
  entry: {
    entry: "infra/functions/entry",
    openapi: "lib/http/openapi",
    "v2-preview": "lib/http/v2-preview",
  },
  events: { events: "infra/functions/events" },
} as const;

export type BundleName = keyof typeof BUNDLES;

/** The modules by name, and their source maps, which are not deployed: to parse one takes a tenth of a cold start. */
export type FunctionBundle<Name extends BundleName = "entry"> = Readonly<
  Record<`${keyof (typeof BUNDLES)[Name] & string}.mjs${"" | ".map"}`, string>
>;

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

/** Bundles into self-contained ES modules for Node 24. */
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

/**
 * Bundles functions with everything they import, minified, and their source maps.
 *
 * @param entry the path of a module to use instead of ours, which exports `api` and `list`
 */
export async function buildFunctions<Name extends BundleName = "entry">(
  name: Name = "entry" as Name,
  entry?: string,
): Promise<FunctionBundle<Name>> {
  // Imported on use, so that programs that deploy no function need not install it.
  const { build } = await import("esbuild");
  const home = fileURLToPath(new URL("../..", import.meta.url));
  if (entry !== undefined && !existsSync(entry))
    throw invalidInput("entry", `There is no module ${entry}. ${OWN_ENTRY}`);
  const ownEntry = entry === undefined ? {} : { entry: resolve(entry) };
  const alias = entry === undefined || EXTENSION === "js" ? {} : await sourceByExport(home);
  const { outputFiles, metafile } = await build({
    ...BUNDLE_OPTIONS,
    alias,
    // Makes the output independent of the working directory. With Yarn Plug'n'Play, esbuild looks for the manifest there.
    absWorkingDir: plugAndPlayFolder() ?? home,
    entryPoints: {
      ...Object.fromEntries(
        Object.entries(BUNDLES[name]).map(([module, source]) => [
          module,
          join(home, `${source}.${EXTENSION}`),
        ]),
      ),
      ...ownEntry,
    },
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
  }
  const files = outputFiles.map(({ path, text }) => [
    basename(path),
    path.endsWith(".map") ? withStableSources(text) : text,
  ]);
  return Object.fromEntries(files) as FunctionBundle<Name>;
}

/** What a module of one's own imports as `store-orders/http` is `lib/http/index.ts` in the repository, built or not. */
async function sourceByExport(home: string): Promise<Record<string, string>> {
  const manifest = JSON.parse(await readFile(join(home, "package.json"), "utf8")) as Manifest;
  const modules = Object.entries(manifest.exports).filter(([, file]) => typeof file === "object");
  return Object.fromEntries(
    modules.map(([name, { default: file }]) => [
      `store-orders${name.slice(1)}`,
      join(home, file.replace("./dist/", "").replace(/js$/, "ts")),
    ]),
  );
}

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default: string }>>;
}

/** A source map that does not depend on where packages are installed: a deployment from elsewhere changes no function. */
function withStableSources(text: string): string {
  const map = JSON.parse(text) as { readonly sources: readonly string[] };
  const sources = map.sources.map((source) => source.replace(/^.*\bnode_modules\//, "node_modules/"));
  return JSON.stringify({ ...map, sources });
}

/** The folder of the project if Yarn Plug'n'Play runs it: the package is then in an archive that can be elsewhere. */
function plugAndPlayFolder(): string | undefined {
  // Yarn adds it to the modules of Node.
  const { findPnpApi } = nodeModule as { findPnpApi?: (path: string) => PlugAndPlay | null };
  const api = findPnpApi?.(fileURLToPath(import.meta.url));
  return api?.getPackageInformation(api.topLevel).packageLocation;
}

/** The part of Yarn's interface that is used. */
interface PlugAndPlay {
  readonly topLevel: unknown;
  getPackageInformation(locator: unknown): { readonly packageLocation: string };
}

/** Writes a bundle, by file name, below `folder`. Returns the paths of the files. */
export async function writeBundle(
  bundle: Readonly<Record<string, string>>,
  folder: string,
): Promise<Readonly<Record<string, string>>> {
  // One folder for each content, so that concurrent deployments of different versions do not overwrite each other.
  const hash = createHash("sha256").update(JSON.stringify(bundle)).digest("hex").slice(0, 16);
  const target = join(folder, hash);
  await mkdir(target, { recursive: true });
  const files = Object.entries(bundle).map(async ([name, content]) => {
    const path = join(target, name);
    // Renamed when complete, so that a concurrent deployment never reads a partial file.
    await writeFile(`${path}.${process.pid}`, content);
    await rename(`${path}.${process.pid}`, path);
    return [name, path] as const;
  });
  return Object.fromEntries(await Promise.all(files));
}
