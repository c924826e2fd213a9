import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type OurOptions, ours, type Program } from "./server-process.ts";

/**
 * Our server as plain JavaScript, like the package and like the peers. From the sources, where Node strips the types
 * first, an idle process is about 25 MiB larger.
 */
export async function compileOurs(folder: string, options: OurOptions): Promise<Program> {
  const file = join(folder, "ours.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("ours.ts", import.meta.url))],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    external: ["@aws-sdk/*", "@smithy/*"],
    logLevel: "error",
  });
  return { ...ours(options), file };
}
