import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { expect, onTestFinished, test, vi } from "vitest";
import { buildFunctions } from "../../../infra/functions/build.ts";
import { functionCode } from "../../../infra/functions/code.ts";

vi.mock("../../../infra/functions/build.ts");

/** Writes a bundle and returns the path of its entry file. */
async function writeBundle(folder: string, code: string): Promise<string> {
  vi.mocked(buildFunctions).mockResolvedValue({ "entry.mjs": code, "entry.mjs.map": "{}" });
  const archive = (await functionCode(folder)) as pulumi.asset.AssetArchive;
  const asset = (await archive.assets)["entry.mjs"];
  if (!(asset instanceof pulumi.asset.FileAsset)) throw new Error("The entry is not a file.");
  return asset.path;
}

test("a deployment does not overwrite the code of another one that runs at the same time", async () => {
  const folder = await mkdtemp(join(tmpdir(), "store-orders-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const first = await writeBundle(folder, "first");
  const second = await writeBundle(folder, "second");
  expect(await readFile(first, "utf8")).toBe("first");
  expect(await readFile(second, "utf8")).toBe("second");
  expect(await writeBundle(folder, "first")).toBe(first);
});
