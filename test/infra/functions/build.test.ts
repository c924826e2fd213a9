import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildFunctions, type FunctionBundle, writeBundle } from "../../../infra/functions/build.ts";

const MAX_KIB = 270;

let bundle: FunctionBundle;
beforeAll(async () => {
  bundle = await buildFunctions();
});

describe("the function bundle", () => {
  test("the preview of v2 is a file of its own, so that it costs nothing where it is off", () => {
    expect(Object.keys(bundle).toSorted()).toEqual([
      "entry.mjs",
      "entry.mjs.map",
      "v2-preview.mjs",
      "v2-preview.mjs.map",
    ]);
    expect(bundle["entry.mjs"]).toContain('import("./v2-preview.mjs")');
    expect(bundle["entry.mjs"]).not.toContain("pageOrders");
  });

  test(`the function bundle is at most ${MAX_KIB} KiB`, () => {
    expect(Buffer.byteLength(bundle["entry.mjs"]) / 1024).toBeLessThanOrEqual(MAX_KIB);
  });

  test("its source map refers to the sources, and it contains no path of the machine that built it", () => {
    const map = JSON.parse(bundle["entry.mjs.map"]);
    expect(new SourceMap(map).payload.sources).toContain("lib/http/handler.ts");
    expect(bundle["entry.mjs"]).toMatch(/\/\/# sourceMappingURL=entry\.mjs\.map\n$/);
    for (const text of Object.values(bundle)) expect(text).not.toContain(process.cwd());
  });

  test("the build is reproducible and independent of the working directory", async () => {
    const before = process.cwd();
    process.chdir(tmpdir());
    try {
      expect(await buildFunctions()).toEqual(bundle);
    } finally {
      process.chdir(before);
    }
  });
});

test("a program that deploys the functions leaves nothing behind, neither where it runs nor among temporary files", async () => {
  const [folder, temporary] = await Promise.all(["program", "temporary"].map(newFolder));
  const code = new URL("../../../infra/functions/function.ts", import.meta.url);
  const program = `
    import { existsSync } from "node:fs";
    const { functionCode } = await import("${code}");
    const { assets } = await functionCode();
    for (const { path } of Object.values(await assets)) console.log(await path, existsSync(await path));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    env: { ...process.env, TMPDIR: temporary },
    encoding: "utf8",
  });
  const lines = output.trim().split("\n");
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line).toMatch(new RegExp(`^${temporary}/store-orders-.* true$`));
  expect(await readdir(String(folder))).toEqual([]);
  expect(await readdir(String(temporary))).toEqual([]);
});

test("a deployment does not overwrite the code of another one that runs at the same time", async () => {
  const folder = await newFolder("shared");
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

async function newFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `store-orders-${name}-`));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}
