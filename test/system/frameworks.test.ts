/** Runs every row of the table of frameworks, with and without a key, in each runtime that the framework supports. */
import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { freeTcpPort } from "../support/postgres/server.ts";
import { install, newFolder, ROOT } from "./installed.ts";

type Runtime = "node" | "bun" | "deno";
const RUNTIMES: readonly Runtime[] = ["node", "bun", "deno"];

const SERVE_APP: Readonly<Record<Runtime, string>> = {
  node: 'import { serve } from "@hono/node-server"; serve({ fetch: app.fetch, port });',
  bun: "Bun.serve({ port, fetch: app.fetch });",
  deno: "Deno.serve({ port }, app.fetch);",
};

/** The module of Hono that knows the address of a caller. */
const CONNECTION_INFO: Readonly<Record<Runtime, string>> = {
  node: "@hono/node-server/conninfo",
  bun: "hono/bun",
  deno: "hono/deno",
};

const MOUNTED = 'import { toNodeHandler } from "store-orders/node";';

/** A way to mount the handler: the code of a program around that of the document. */
interface Mount {
  readonly framework: string;
  readonly runtimes: readonly Runtime[];
  program(code: string, runtime: Runtime): string;
  /** True if the handler gets the address of the caller. */
  readonly knowsAddress: boolean;
}

const MOUNTS: readonly Mount[] = [
  {
    framework: "Hono",
    runtimes: RUNTIMES,
    program: (code, runtime) =>
      `import { Hono } from "hono"; const app = new Hono(); ${code}; ${SERVE_APP[runtime]}`,
    knowsAddress: false,
  },
  {
    framework: "Hono, with the address",
    runtimes: RUNTIMES,
    program: (code, runtime) =>
      `import { getConnInfo } from "${CONNECTION_INFO[runtime]}";
      import { Hono } from "hono"; const app = new Hono(); ${code}; ${SERVE_APP[runtime]}`,
    knowsAddress: true,
  },
  {
    framework: "Express, and everything on `node:http` or `node:http2`",
    runtimes: RUNTIMES,
    program: (code) =>
      `${MOUNTED} import express from "express"; const app = express(); ${code}; app.listen(port);`,
    knowsAddress: true,
  },
  {
    framework: "Fastify",
    runtimes: RUNTIMES,
    program: (code) =>
      `${MOUNTED} import fastify from "fastify"; const app = fastify(); const serve = toNodeHandler(handler); ${code};
      await app.listen({ port, host: "127.0.0.1" });`,
    knowsAddress: true,
  },
  { framework: "Bun", runtimes: ["bun"], program: (code) => code, knowsAddress: true },
  { framework: "Deno", runtimes: ["deno"], program: (code) => code, knowsAddress: true },
  {
    framework: "the handler itself, with what the runtime passes besides the request",
    runtimes: ["bun", "deno"],
    program: (_code, runtime) =>
      runtime === "bun" ? "Bun.serve({ port, fetch: handler });" : "Deno.serve({ port }, handler);",
    knowsAddress: false,
  },
  {
    framework: "the Node server",
    runtimes: RUNTIMES,
    program: () =>
      'import { startNodeServer } from "store-orders/node"; await startNodeServer({ handler, port });',
    knowsAddress: true,
  },
];

/** The other rows of the table, with the test that runs each with and without a key. */
const TESTED_ELSEWHERE: Readonly<Record<string, readonly [file: string, contains: string]>> = {
  "Cloudflare Workers": ["test/system/examples-frameworks.test.ts", "handler-in-workers"],
  "Next.js": ["test/system/examples-frameworks.test.ts", "handler-in-next"],
  "AWS Lambda": ["test/infra/functions/entry.test.ts", "missing_api_key"],
  "beside a deployed stack, on its tables": ["test/system/examples-infrastructure.test.ts", "beside-a-stack"],
  "with your own routes": ["test/system/examples-rules.test.ts", "gate-in-fastify"],
};

/** The code of each framework in the table. */
const ROWS = new Map(
  [...tableText().matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, framework = "", how = ""]) => [
    framework.split(", in `")[0] ?? "",
    /`([^`]+)`/.exec(how)?.[1] ?? "",
  ]),
);

function tableText(): string {
  const [, rows = ""] = readFileSync(join(ROOT, "lib/http/README.md"), "utf8").split(
    "| framework | how |\n|---|---|\n",
  );
  return rows.slice(0, rows.indexOf("\n\n") + 1);
}

test("every row of the table is run", async () => {
  const mounted = MOUNTS.map(({ framework }) => framework);
  expect(ROWS.size).toBeGreaterThan(8);
  for (const framework of ROWS.keys()) {
    const [file, contains] = TESTED_ELSEWHERE[framework] ?? [];
    if (file === undefined) expect(mounted).toContain(framework);
    else expect(await readFile(join(ROOT, file), "utf8"), framework).toContain(contains);
  }
});

let folder = "";
const programs: Record<Runtime, readonly string[]> = { node: [process.execPath], bun: [], deno: [] };
beforeAll(async () => {
  folder = await newFolder();
  await cp(join(ROOT, "test/system/frameworks"), folder, { recursive: true });
  await install(folder, inject("tarball"));
  const [bun = ""] = globSync("node_modules/@oven/*/bin/bun", { cwd: folder });
  const [deno = ""] = globSync("node_modules/@deno/*/deno", { cwd: folder });
  programs.bun = [join(folder, bun), "run"];
  programs.deno = [join(folder, deno), "run", "--allow-all", "--node-modules-dir=manual", "--no-lock"];
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts a program, and returns its address, its key, and the lines that it has printed since. */
async function start(source: string, runtime: Runtime) {
  const port = await freeTcpPort();
  const file = join(folder, `program-${port}.js`);
  await writeFile(file, `import { handler, port } from "./service.js";\n${source}\n`);
  const [program = "", ...args] = programs[runtime];
  const env = { ...process.env, PORT: `${port}`, DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}` };
  const child = spawn(program, [...args, file], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let errors = "";
  child.stderr.on("data", (part) => {
    errors += part;
  });
  const lines: string[] = [];
  createInterface(child.stdout).on("line", (line) => lines.push(line));
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok === true;
  await expect.poll(async () => child.exitCode !== null || (await isReady()), { timeout: 60_000 }).toBe(true);
  expect(child.exitCode, errors).toBeNull();
  const key = lines.find((line) => line.startsWith("so_")) ?? "";
  lines.length = 0;
  return { url, key, lines };
}

describe.each(MOUNTS)("$framework", ({ framework, runtimes, program, knowsAddress }) => {
  test.each(runtimes)("works in %s, with and without a key", async (runtime) => {
    const { url, key, lines } = await start(program(ROWS.get(framework) ?? "", runtime), runtime);
    async function call(method: string, path: string, headers: Record<string, string> = {}) {
      const response = await fetch(url + path, { method, headers });
      return [response.status, response.headers.get("x-ratelimit-limit"), await response.text()];
    }
    const valid = { authorization: `Bearer ${key}` };
    const missing = [401, "60", expect.stringContaining('"missing_api_key"')];
    const invalid = [401, "60", expect.stringContaining('"invalid_api_key"')];
    expect(await call("GET", "/v1/store/orders", valid)).toEqual([200, "300", '[{"id":1}]']);
    expect(await call("DELETE", "/v1/store/orders/1", valid)).toEqual([204, "300", ""]);
    expect(await call("GET", "/v1/store/orders")).toEqual(missing);
    expect(await call("DELETE", "/v1/store/orders/1")).toEqual(missing);
    expect(await call("GET", "/v1/store/orders", { authorization: "Bearer no" })).toEqual(invalid);
    expect(await call("GET", "/nowhere", valid)).toEqual([404, "300", expect.any(String)]);
    const address = knowsAddress ? expect.stringMatching(/^(::ffff:)?127\.0\.0\.1$/) : "none";
    await expect.poll(() => lines).toEqual(Array.from({ length: 6 }, () => address));
  });
});
