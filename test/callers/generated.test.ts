import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { openApiDocument } from "../../lib/http/openapi.ts";
import { startNodeServer } from "../../lib/node/server.ts";
import { table } from "../documents/markdown.ts";
import { createHandlerFixture, MAX, NOON } from "../http/fixture.ts";
import { homeOfPackages } from "../support/install-packages.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { findExecutable } from "../system/find-program.ts";
import { noPython, PYTHON } from "./setup.ts";

const { rows } = table("lib/client/other-clients.md", "generator", "identifiers");
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "store-orders-generated-"));
const MODULES = join(homeOfPackages("callers"), "node_modules");
symlinkSync(MODULES, join(folder, "node_modules"));
writeFileSync(join(folder, "openapi.json"), JSON.stringify(openApiDocument()));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The service, with a key, and with one whose limit is used up for another second, for ever. */
async function startService() {
  const requests: string[] = [];
  const { handler, key, accounts, time } = await createHandlerFixture({
    onRequest: ({ accountId = "", status }) => void requests.push(`${accountId} ${status}`),
  });
  time.now = NOON + 59_000;
  await accounts.create("spent", { plan: "enterprise", customLimits: { perMinute: 1, perDay: 1_000 } });
  const spent = await accounts.issueKey("spent");
  if (!spent.ok) throw new Error(spent.code);
  const server = await startNodeServer({ handler, port: 0 });
  await fetch(`${server.url}/v1/store/orders`, { headers: { authorization: `Bearer ${spent.key}` } });
  return { server, keys: `${key},${spent.key}`, requests };
}

const jvm = join(dirname(PYTHON), "openapi-generator-cli");
const openapiGenerator = (language: string) => async (input: string, output: string) => {
  await run(jvm, ["generate", "-g", language, "-i", input, "-o", output]);
  return join(output, "index.ts");
};

/** By the name and version of its row: generates from a file or a URL, and says which module a program imports then. */
const GENERATORS: Readonly<
  Record<string, (input: string, output: string, baseUrl: string) => Promise<string>>
> = {
  async "openapi-typescript 7.13.0, openapi-fetch 0.17.0"(input, output) {
    const program = join(MODULES, "openapi-typescript/bin/cli.js");
    await run(process.execPath, [program, input, "--output", join(output, "index.ts")]);
    return join(MODULES, "openapi-fetch/dist/index.mjs");
  },
  async "@hey-api/openapi-ts 0.99.0"(input, output) {
    await run(join(MODULES, ".bin/openapi-ts"), ["--input", input, "--output", output], { cwd: folder });
    const entry = join(output, "entry.ts");
    writeFileSync(entry, 'export * from "./index.ts";\nexport { client } from "./client.gen.ts";');
    return entry;
  },
  async "orval 8.38.0"(target, output, baseUrl) {
    const api = { input: { target }, output: { target: join(output, "index.ts"), client: "fetch", baseUrl } };
    const config = `${output}.config.mjs`;
    writeFileSync(config, `export default ${JSON.stringify({ api })};`);
    await run(join(MODULES, ".bin/orval"), ["--config", config], { cwd: folder });
    return join(output, "index.ts");
  },
  "openapi-generator 7.25.0 typescript-fetch": openapiGenerator("typescript-fetch"),
  "openapi-generator 7.25.0 python": openapiGenerator("python"),
  async "openapi-python-client 0.29.1"(input, output) {
    const source = input.startsWith("http") ? "--url" : "--path";
    const options = [source, input, "--output-path", join(output, "generated"), "--meta", "none"];
    const env = { ...process.env, PATH: `${dirname(PYTHON)}:${process.env["PATH"]}` };
    await run(join(dirname(PYTHON), "openapi-python-client"), ["generate", ...options], { env });
    return output;
  },
};

const noJava = findExecutable("java") === undefined ? "there is no java" : undefined;

describe.each(Object.entries(GENERATORS))("%s", (name, generate) => {
  const row = rows.find(([cell]) => cell === name) ?? [];
  const [, identifiers, repeats, code = "", ...bases] = row;
  const isPython = /python/.test(name);
  const program = here(isPython ? "pypi_generated.py" : "npm-generated.ts");
  const reason = isPython || name.startsWith("openapi-generator") ? (noPython() ?? noJava) : undefined;

  test.skipIf(skipsBecause(name, reason)).each(["file", "service"])(
    "from a %s, does what its row says",
    async (from) => {
      const { server, keys, requests } = await startService();
      const baseUrl = `${server.url}/v1`;
      const output = join(folder, `${Object.keys(GENERATORS).indexOf(name)}-${from}`);
      mkdirSync(output);
      const input = from === "file" ? join(folder, "openapi.json") : `${server.url}/openapi.json`;
      const entry = await generate(input, output, baseUrl);
      const outfile = join(output, "client.mjs");
      if (!isPython)
        await build({
          entryPoints: [entry],
          bundle: true,
          platform: "node",
          format: "esm",
          outfile,
          logLevel: "error",
        });
      const { stdout } = await run(isPython ? PYTHON : process.execPath, [
        program,
        name.replaceAll(/^openapi-generator [\d.]+ | [\d.]+(?=,|$).*/g, ""),
        isPython ? output : outfile,
        baseUrl,
        keys,
      ]);
      const base = bases[from === "file" ? 0 : 1];
      expect(JSON.parse(stdout)).toEqual({
        base: base === "right" ? baseUrl : base,
        last: `${identifiers === "exact" ? MAX : BigInt(Number(MAX))}`,
        cancelled: 204,
        missing: [404, "order_not_found"],
        conflict: [409, "order_already_cancelled"],
        limited: [429, "rate_limit_exceeded", "1"],
      });
      expect(readFileSync(program, "utf8").includes(code), code).toBe(true);
      const { length } = requests.filter((request) => request === "spent 429");
      expect(length).toBe(repeats === "no" ? 1 : Number(repeats) + 1);
      await server.close({ graceMs: 0 });
    },
  );
});
