/**
 * Builds the package into `dist`: the library as compiled modules with declarations, and the command line as one bundle
 * that includes its dependencies, so that users of the library do not install them.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const manifest = JSON.parse(readFileSync("package.json", "utf8"));
/** Optional peer dependencies that are small enough to be in the bundle. All others are the user's installation. */
const BUNDLED_PEERS = ["prom-client", "standardwebhooks"];

rmSync("dist", { recursive: true, force: true });
// Several threads check the same declarations.
execFileSync("node_modules/.bin/tsc", ["--project", "lib/tsconfig.json", "--singleThreaded"], {
  stdio: "inherit",
});

/** How a source reads a script or a style of a web page, which is a file beside it. */
const ASSET = /readFileSync\(\s*new URL\("(\.[^"]+\.(?:js|css))", import\.meta\.url\),\s*"utf8",?\s*\)/g;

/** Replaces each such call by the content of the file, so that a bundle of the package needs no further file. */
function inlineAssets(code: string, source: string): string {
  const base = pathToFileURL(source);
  return code.replace(ASSET, (_call, path) => JSON.stringify(readFileSync(new URL(path, base), "utf8")));
}

for (const file of globSync("dist/lib/**/*.js"))
  writeFileSync(file, inlineAssets(readFileSync(file, "utf8"), file.replace("dist/", "")));

// Some dependencies are CommonJS and `require` Node's modules.
const banner = {
  js: "import { createRequire as _require } from 'node:module'; const require = _require(import.meta.url);",
};

// The DNS library is part of the one module that uses it, so that users of the Node entry need not install it.
const ownModulesStay: Plugin = {
  name: "own modules stay",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\// }, ({ path }) => ({ path, external: true }));
  },
};
const DNS_RESOLVER = "dist/lib/node/dns-resolver.js";
const resolver = await build({
  entryPoints: [DNS_RESOLVER],
  outfile: DNS_RESOLVER,
  allowOverwrite: true,
  bundle: true,
  metafile: true,
  format: "esm",
  platform: "node",
  plugins: [ownModulesStay],
  banner,
});
writeFileSync("dist/lib/node/LICENSES.txt", licenceNotices(Object.keys(resolver.metafile.inputs)));

const inlining: Plugin = {
  name: "inline assets",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]lib[\\/].*\.ts$/ }, ({ path }) => ({
      contents: inlineAssets(readFileSync(path, "utf8"), path),
      loader: "ts",
    }));
  },
};

const { metafile } = await build({
  entryPoints: ["lib/cli/bin.ts"],
  outdir: "dist/cli",
  plugins: [inlining],
  bundle: true,
  metafile: true,
  // Commands load their own chunks on demand.
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22.16",
  define: { SUPPORTED_NODE: '"22.16"' },
  legalComments: "linked",
  // `@smithy` comes with the AWS clients.
  external: [
    ...Object.keys(manifest.peerDependencies).filter((name) => !BUNDLED_PEERS.includes(name)),
    "@smithy/*",
  ],
  banner,
});
// A script of the console's pages, which is inlined and so none of the inputs.
const IDIOMORPH = "node_modules/idiomorph";
writeFileSync("dist/cli/LICENSES.txt", licenceNotices([...Object.keys(metafile.inputs), IDIOMORPH]));
chmodSync("dist/cli/bin.js", 0o755);

/** The name, version and licence of every package among the source files of a bundle. */
function licenceNotices(files: readonly string[]): string {
  // The innermost package, because packages are nested.
  const pattern = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;
  const packages = new Set(files.flatMap((file) => pattern.exec(file)?.[0] ?? []));
  return [...packages]
    .sort()
    .map(noticeOf)
    .join(`\n${"-".repeat(80)}\n\n`);
}

function noticeOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  // A package that names its licence, but lacks the text, has it in a file of ours.
  const texts = globSync([
    `${folder}/{LICEN[CS]E,licen[cs]e,Licen[cs]e,COPYING,NOTICE}*`,
    `.config/licences/${name}.txt`,
  ])
    .toSorted()
    .map((file) => readFileSync(file, "utf8").trim());
  const withoutFile = `The package has no licence file; this is the licence that its manifest names: ${license}`;
  return `${name} ${version}\n\n${texts.length === 0 ? withoutFile : texts.join("\n\n")}\n`;
}
