import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type OurOptions, ours, type Program } from "./server-process.ts";

/**
 * Our own server as plain JavaScript, which is how the package is shipped and how the peers run. From the sources,
 * where Node takes the types off first, an idle process is some 25 MiB larger.
 */
export async function compiled(folder: string, options: OurOptions): Promise<Program> {
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
