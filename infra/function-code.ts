import * as pulumi from "@pulumi/pulumi";
import { buildFunctions } from "./functions/build.ts";

/** The bundle with both functions, built from the repository's sources. */
export async function functionCode(): Promise<pulumi.asset.Archive> {
  const files = Object.entries(await buildFunctions());
  return new pulumi.asset.AssetArchive(
    Object.fromEntries(files.map(([name, text]) => [name, new pulumi.asset.StringAsset(text)])),
  );
}
