/** Runs every row of the table of frameworks, and other frameworks, with and without a key, in each runtime that they support. */
import { spawn } from "node:child_process";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { ROOT, runSuccessfully } from "./installed.ts";
import { newFolderWith, packagesOf, programOf } from "./linked-packages.ts";

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

const SERVE = 'import { toNodeHandler } from "store-orders/node"; const serve = toNodeHandler(handler);';

/** An application of Nest with a route of its own, `/own`, without the syntax of decorators. */
const nest = (adapter: string) => `
  import "reflect-metadata";
  import { Controller, Get, Module } from "@nestjs/common";
  import { NestFactory } from "@nestjs/core";
  class Own { own() { return "own"; } }
  Controller()(Own);
  Get("own")(Own.prototype, "own", Object.getOwnPropertyDescriptor(Own.prototype, "own"));
  class AppModule {}
  Module({ controllers: [Own] })(AppModule);
  const app = await NestFactory.create(AppModule, new ${adapter}Adapter(), { logger: false });`;

/** A way to mount the handler: the code of a program around that of the document. */
interface Mount {
  readonly framework: string;
  /** The code, if the framework has no row in the table. */
  readonly code?: string;
  /** @default only Node */
  readonly runtimes?: readonly Runtime[];
  program(code: string, runtime: Runtime): string;
  /** Builds what the program imports. */
  build?(code: string): Promise<void>;
  /** True if the handler does not get the address of the caller. */
  readonly hidesAddress?: true;
  /** The path below which the framework serves the handler. */
  readonly below?: string;
  /** True if the program has a route of its own, `/own`. */
  readonly hasOwnRoute?: true;
}

const MOUNTS: readonly Mount[] = [
  {
    framework: "Hono, and everything on `fetch`",
    runtimes: RUNTIMES,
    program: (code, runtime) =>
      `import { getConnInfo } from "${CONNECTION_INFO[runtime]}";
      import { Hono } from "hono"; const app = new Hono(); ${code}; ${SERVE_APP[runtime]}`,
  },
  {
    framework: "Express, and everything on `node:http` or `node:http2`",
    runtimes: RUNTIMES,
    program: (code) =>
      `${SERVE} import express from "express"; const app = express(); ${code}; app.listen(port);`,
  },
  {
    framework: "Express, beside routes of your own",
    program: (code) =>
      `${SERVE} import express from "express"; const app = express(); ${code}; app.use(express.json());
      app.get("/own", (_, response) => response.send("own")); app.listen(port);`,
    hasOwnRoute: true,
  },
  ...["Express", "Fastify"].map(
    (adapter): Mount => ({
      framework: `NestJS on ${adapter}`,
      code: 'app.use("/shop", serve)',
      program: (code) =>
        `${SERVE} import { ${adapter}Adapter } from "@nestjs/platform-${adapter.toLowerCase()}"; ${nest(adapter)} ${code};
      await app.listen(port);`,
      below: "/shop",
      hasOwnRoute: true,
    }),
  ),
  {
    framework: "Koa",
    code: "app.use((ctx) => { ctx.respond = false; serve(ctx.req, ctx.res); })",
    program: (code) => `${SERVE} import Koa from "koa"; const app = new Koa(); ${code}; app.listen(port);`,
  },
  {
    framework: "Koa, below a path",
    code: 'app.use(mount("/shop", (ctx) => { ctx.respond = false; serve(ctx.req, ctx.res); }))',
    program: (code) =>
      `${SERVE} import Koa from "koa"; import mount from "koa-mount"; const app = new Koa(); ${code};
      app.use((ctx) => { ctx.body = "own"; }); app.listen(port);`,
    below: "/shop",
    hasOwnRoute: true,
  },
  {
    framework: "h3 2",
    code: 'app.all("/v1/**", (event) => handler(event.req, { address: event.req.ip }))',
    program: (code) =>
      `import { H3, serve } from "h3"; const app = new H3(); ${code}; app.get("/own", () => "own");
      serve(app, { port, silent: true });`,
    hasOwnRoute: true,
  },
  {
    framework: "Elysia",
    code: `app.all("/v1/*", ({ request, server }) => handler(request, { address: server?.requestIP(request)?.address }))`,
    runtimes: ["bun"],
    program: (code) =>
      `import { Elysia } from "elysia"; const app = new Elysia(); ${code}; app.get("/own", () => "own"); app.listen(port);`,
    hasOwnRoute: true,
  },
  {
    framework: "SvelteKit",
    code: "export const fallback = ({ request, getClientAddress }) => handler(request, { address: getClientAddress() })",
    build: buildSvelteKit,
    program: () => 'globalThis.handler = handler; await import("./build/index.js");',
    hasOwnRoute: true,
  },
  {
    framework: "Fastify, which answers each request itself",
    runtimes: RUNTIMES,
    program: (code) =>
      `${SERVE} import fastify from "fastify"; const app = fastify(); ${code};
      await app.listen({ port, host: "127.0.0.1" });`,
  },
  {
    framework: "the runtime itself, with the address",
    runtimes: ["bun", "deno"],
    program: (_code, runtime) =>
      runtime === "bun"
        ? "Bun.serve({ port, fetch: (request, server) => handler(request, { address: server.requestIP(request)?.address }) });"
        : "Deno.serve({ port }, (request, { remoteAddr }) => handler(request, { address: remoteAddr.hostname }));",
  },
  {
    framework: "the handler itself, with what the runtime passes besides the request",
    runtimes: ["bun", "deno"],
    program: (_code, runtime) =>
      runtime === "bun" ? "Bun.serve({ port, fetch: handler });" : "Deno.serve({ port }, handler);",
    hidesAddress: true,
  },
  {
    framework: "the Node server",
    runtimes: RUNTIMES,
    program: () =>
      'import { startNodeServer } from "store-orders/node"; await startNodeServer({ handler, port });',
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

const DOCUMENT = readFileSync(join(ROOT, "lib/http/README.md"), "utf8");

const ROWS = new Map(
  [...tableText().matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, framework = "", how = ""]) => [
    framework.split(", in `")[0] ?? "",
    /`([^`]+)`/.exec(how)?.[1] ?? "",
  ]),
);

function tableText(): string {
  const [, rows = ""] = DOCUMENT.split("| framework | how |\n|---|---|\n");
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

const folder = newFolderWith(inject("installed"), packagesOf("test/system/frameworks/package.json"));
cpSync(join(ROOT, "test/system/frameworks"), folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const programs: Record<Runtime, readonly string[]> = {
  node: [process.execPath],
  bun: [programOf("bun"), "run"],
  deno: [programOf("deno"), "run", "--allow-all", "--node-modules-dir=manual", "--no-lock"],
};

/** Builds an application of SvelteKit around the code of a route, with the setting that the document names. */
async function buildSvelteKit(code: string): Promise<void> {
  const [, setting = ""] = /`(csrf: .+?)` in SvelteKit/.exec(DOCUMENT) ?? [];
  const files: Readonly<Record<string, string>> = {
    "src/app.html": "%sveltekit.head% %sveltekit.body%",
    "src/routes/own/+server.js": 'export const GET = () => new Response("own");',
    // The handler of the program: a bundle would contain another.
    "src/routes/v1/[...path]/+server.js": `const handler = (...args) => globalThis.handler(...args); ${code};`,
    "vite.config.js": `import adapter from "@sveltejs/adapter-node"; import { sveltekit } from "@sveltejs/kit/vite";
      export default { plugins: [sveltekit({ adapter: adapter(), ${setting} })] };`,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  await runSuccessfully(folder, process.execPath, ["node_modules/vite/bin/vite.js", "build"]);
}

/** Starts a program, and returns its address, its key, and the lines that it has printed since. */
async function start(source: string, runtime: Runtime) {
  const port = await freePort();
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
  // A framework that has no route for it answers 404.
  const isReady = async () => (await fetch(`${url}/healthz`).catch(() => undefined)) !== undefined;
  await expect.poll(async () => child.exitCode !== null || (await isReady()), { timeout: 60_000 }).toBe(true);
  expect(child.exitCode, errors).toBeNull();
  const key = lines.find((line) => line.startsWith("so_")) ?? "";
  lines.length = 0;
  return { url, key, lines };
}

describe.each(MOUNTS)(
  "$framework",
  ({
    framework,
    code = ROWS.get(framework) ?? "",
    runtimes = ["node"],
    program,
    build,
    below = "",
    ...mount
  }) => {
    test.each(runtimes)("works in %s, with and without a key", async (runtime) => {
      await build?.(code);
      const { url, key, lines } = await start(program(code, runtime), runtime);
      async function call(method: string, path: string, headers: Record<string, string> = {}) {
        const response = await fetch(url + path, { method, headers });
        return [response.status, response.headers.get("x-ratelimit-limit"), await response.text()];
      }
      const orders = `${below}/v1/store/orders`;
      const valid = { authorization: `Bearer ${key}` };
      const missing = [401, "60", expect.stringContaining('"missing_api_key"')];
      const invalid = [401, "60", expect.stringContaining('"invalid_api_key"')];
      expect(await call("GET", orders, valid)).toEqual([200, "300", '[{"id":1}]']);
      expect(await call("DELETE", `${orders}/1`, valid)).toEqual([204, "300", ""]);
      expect(await call("GET", orders)).toEqual(missing);
      expect(await call("DELETE", `${orders}/1`)).toEqual(missing);
      expect(await call("GET", orders, { authorization: "Bearer no" })).toEqual(invalid);
      expect(await call("GET", `${below}/v1/nowhere`, valid)).toEqual([404, "300", expect.any(String)]);
      if (mount.hasOwnRoute) expect(await call("GET", "/own")).toEqual([200, null, "own"]);
      const address = mount.hidesAddress ? "none" : expect.stringMatching(/^(::ffff:)?127\.0\.0\.1$/);
      await expect.poll(() => lines).toEqual(Array.from({ length: 6 }, () => address));
    });
  },
);
