/**
 * Builds the package into `dist`: the library as compiled modules with declarations, and the command line as one bundle
 * that includes its dependencies, so that users of the library do not install them.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { licenceNotices } from "./licence-notices.ts";

process.chdir(fileURLToPath(new URL("../..", import.meta.url)));
rmSync("dist", { recursive: true, force: true });
execFileSync("node_modules/.bin/tsc", ["--project", "lib/tsconfig.json"], { stdio: "inherit" });

const { metafile } = await build({
  entryPoints: ["lib/cli/bin.ts"],
  outdir: "dist/cli",
  bundle: true,
  metafile: true,
  // Commands load their own chunks on demand.
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  legalComments: "linked",
  // Optional peer dependencies: resolved from the user's installation.
  external: ["@aws-sdk/*", "@smithy/*", "swagger-ui-dist"],
  // Some dependencies are CommonJS and `require` Node's modules.
  banner: {
    js: "import { createRequire as _require } from 'node:module'; const require = _require(import.meta.url);",
  },
});
// The console serves it to its page as it is.
const IDIOMORPH = "node_modules/idiomorph/dist/idiomorph.min.js";
copyFileSync(IDIOMORPH, "dist/cli/idiomorph.js");
writeFileSync("dist/cli/LICENSES.txt", licenceNotices([...Object.keys(metafile.inputs), IDIOMORPH]));
chmodSync("dist/cli/bin.js", 0o755);
