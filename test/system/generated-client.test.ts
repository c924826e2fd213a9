import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openApiDocument } from "../../lib/http/openapi.ts";
import { startNodeServer } from "../../lib/node/server.ts";
import { createHandlerFixture, MAX } from "../http/fixture.ts";
import { homeOfPackages } from "../support/install-packages.ts";

const PACKAGES = join(homeOfPackages("system"), "node_modules");
const PROJECT_COMPILER = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin/tsc",
);

const run = promisify(execFile);
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "store-orders-generated-"));
  await writeFile(join(folder, "package.json"), '{"type":"module","private":true}');
  await writeFile(join(folder, "openapi.json"), JSON.stringify(openApiDocument()));
  await copyFile(new URL("generated-client/caller.ts", import.meta.url), join(folder, "caller.ts"));
  await symlink(PACKAGES, join(folder, "node_modules"));
  // It uses the compiler API of TypeScript 5, which TypeScript 7 does not have.
  const generator = join(PACKAGES, "openapi-typescript/bin/cli.js");
  await run(process.execPath, [generator, "openapi.json", "--output", "schema.ts"], { cwd: folder });
}, 240_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

test("a client generated from the OpenAPI document compiles under strict TypeScript", async () => {
  const types = dirname(dirname(createRequire(import.meta.url).resolve("@types/node/package.json")));
  const options = {
    compilerOptions: {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      module: "nodenext",
      target: "es2024",
      allowImportingTsExtensions: true,
      noEmit: true,
      typeRoots: [types],
      types: ["node"],
    },
    files: ["caller.ts"],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(options));
  const { stdout } = await run(process.execPath, [PROJECT_COMPILER, "--singleThreaded", "-p", folder]).catch(
    (failure) => failure,
  );
  expect(stdout).toBe("");
});

test("a generated client works with the server, but reads int64 as double, so large identifiers lose their last digits", async () => {
  const { handler, key } = await createHandlerFixture();
  const server = await startNodeServer({ handler, port: 0 });
  try {
    const { stdout } = await run(process.execPath, ["caller.ts", `${server.url}/v1`, key], { cwd: folder });
    expect(JSON.parse(stdout)).toMatchObject({
      remaining: "59",
      cancelled: 204,
      again: [409, "order_already_cancelled"],
      ids: [1, 2, 3, Number(MAX)],
      text: expect.stringContaining(`"id":${MAX}`),
    });
    expect(`${BigInt(Number(MAX))}`).not.toBe(`${MAX}`);
  } finally {
    await server.close({ graceMs: 0 });
  }
});
