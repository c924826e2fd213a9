import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { buildFunctions } from "./build.ts";

/** Where the bundle is put. */
const FOLDER = "node_modules/.cache/store-orders";

/**
 * The bundle with both functions, built from the repository's sources when the stack is deployed. It is handed over
 * as files, so that the state of the stack holds their hashes and not their text.
 */
export async function functionCode(folder: string = FOLDER): Promise<pulumi.asset.Archive> {
  await mkdir(folder, { recursive: true });
  const files = Object.entries(await buildFunctions()).map(async ([name, text]) => {
    const path = join(folder, name);
    // A deployment beside this one never sees half a file.
    await writeFile(`${path}.${process.pid}`, text);
    await rename(`${path}.${process.pid}`, path);
    return [name, new pulumi.asset.FileAsset(path)] as const;
  });
  return new pulumi.asset.AssetArchive(Object.fromEntries(await Promise.all(files)));
}
