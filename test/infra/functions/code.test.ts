import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeBundle } from "../../../infra/functions/code.ts";

test("a deployment does not overwrite the code of another one that runs at the same time", async () => {
  const folder = await mkdtemp(join(tmpdir(), "store-orders-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = async (code: string) => {
    const paths = await writeBundle({ "entry.mjs": code, "entry.mjs.map": "{}" }, folder);
    return paths["entry.mjs"] ?? "";
  };
  const first = await write("first");
  const second = await write("second");
  expect(await readFile(first, "utf8")).toBe("first");
  expect(await readFile(second, "utf8")).toBe("second");
  expect(await write("first")).toBe(first);
});
