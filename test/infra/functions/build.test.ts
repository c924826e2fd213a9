import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { beforeAll, describe, expect, test } from "vitest";
import { buildFunctions, type FunctionBundle } from "../../../infra/functions/build.ts";

const MAX_KIB = 250;

let bundle: FunctionBundle;
beforeAll(async () => {
  bundle = await buildFunctions();
});

describe("the function bundle", () => {
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
