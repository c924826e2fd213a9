/**
 * Builds the package into `dist`: the library as compiled modules with declarations, the command line as one bundle
 * with its libraries, so that whoever takes the rules installs nothing of it.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL("../..", import.meta.url)));
rmSync("dist", { recursive: true, force: true });
execFileSync("node_modules/.bin/tsc", ["--project", "lib/tsconfig.json"], { stdio: "inherit" });

await build({
  entryPoints: ["lib/cli/bin.ts"],
  outdir: "dist/cli",
  bundle: true,
  // One part for each command that is loaded when it is asked for.
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  legalComments: "linked",
  // What only one store or page needs is found where its user has installed it.
  external: ["@aws-sdk/*", "@smithy/*", "swagger-ui-dist"],
  // Some of the libraries are CommonJS and ask for Node's modules by `require`.
  banner: {
    js: "import { createRequire as _require } from 'node:module'; const require = _require(import.meta.url);",
  },
});
chmodSync("dist/cli/bin.js", 0o755);
