import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { buildFunctions } from "./build.ts";

const DEFAULT_FOLDER = "node_modules/.cache/store-orders";

/**
 * Builds the functions' bundle and writes it to `folder`. The archive refers to files, so that the stack's state holds
 * their hashes instead of their content.
 */
export async function functionCode(folder: string = DEFAULT_FOLDER): Promise<pulumi.asset.Archive> {
  await mkdir(folder, { recursive: true });
  const files = Object.entries(await buildFunctions()).map(async ([name, text]) => {
    const path = join(folder, name);
    // Renamed when complete, so that a concurrent deployment never reads a partial file.
    await writeFile(`${path}.${process.pid}`, text);
    await rename(`${path}.${process.pid}`, path);
    return [name, new pulumi.asset.FileAsset(path)] as const;
  });
  return new pulumi.asset.AssetArchive(Object.fromEntries(await Promise.all(files)));
}
