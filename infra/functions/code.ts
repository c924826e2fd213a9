import { createHash } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { buildFunctions } from "./build.ts";

const DEFAULT_FOLDER = "node_modules/.cache/store-orders";

/**
 * Builds the functions' bundle and writes it below `folder`. The archive refers to files, so that the stack's state
 * holds their hashes instead of their content.
 */
export async function functionCode(folder: string = DEFAULT_FOLDER): Promise<pulumi.asset.Archive> {
  const bundle = await buildFunctions();
  const files = Object.entries(await writeBundle({ ...bundle }, folder));
  return new pulumi.asset.AssetArchive(
    Object.fromEntries(files.map(([name, path]) => [name, new pulumi.asset.FileAsset(path)])),
  );
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
  const files = Object.entries(bundle).map(async ([name, text]) => {
    const path = join(target, name);
    // Renamed when complete, so that a concurrent deployment never reads a partial file.
    await writeFile(`${path}.${process.pid}`, text);
    await rename(`${path}.${process.pid}`, path);
    return [name, path] as const;
  });
  return Object.fromEntries(await Promise.all(files));
}
