import { globSync } from "node:fs";
import { cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cloud } from "../infra/harness/cloud.ts";
import { run as runProgram } from "../infra/harness/program.ts";
import { install, newFolder, packInto, ROOT, readJson, succeed, typeErrors } from "./installed.ts";

let folder = "";
let tarball = "";

beforeAll(async () => {
  folder = await newFolder();
  tarball = await packInto(folder);
}, 240_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Copies an example to a new directory, installs the package there, and checks the types. */
async function installExample(example: string): Promise<string> {
  const home = join(folder, example);
  await cp(join(ROOT, "test/examples", example), home, { recursive: true });
  await install(home, tarball);
  expect(await typeErrors(home, globSync("*.ts", { cwd: home }))).toBe("");
  return home;
}

/** Returns the lines that an example prints. */
async function printed(home: string): Promise<readonly string[]> {
  return (await succeed(home, "node", ["main.ts"])).trim().split("\n");
}

test("the rules work in a Fastify service with its own routes", async () => {
  expect(await printed(await installExample("rules-in-fastify"))).toEqual([
    '201 {"id":7,"petId":9007199254740993,"quantity":2} remaining: 59, retry after: -',
    '200 {"status":"cancelled"} remaining: 58, retry after: -',
    expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* remaining: 57, retry after: -$/),
    expect.stringMatching(/^404 \{"code":"order_not_found",.* remaining: 56, retry after: -$/),
    expect.stringMatching(/^401 \{"code":"invalid_api_key",.* remaining: 59, retry after: -$/),
    expect.stringMatching(/^429 \{"code":"rate_limit_exceeded",.* remaining: 0, retry after: 60$/),
  ]);
});

test("the handler works under a path of a Hono application", async () => {
  expect(await printed(await installExample("handler-in-hono"))).toEqual([
    "200 the home page limit: -",
    '200 [{"id":9223372036854775807,"petId":3}] limit: 300',
    "204  limit: 300",
    expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* limit: 300$/),
    expect.stringMatching(/^401 \{"code":"missing_api_key",.* limit: 60$/),
    expect.stringMatching(/^200 \{"openapi":"3.1.0",.* limit: -$/),
  ]);
});

test("the handler runs in Cloudflare Workers without Node compatibility", async () => {
  expect(await printed(await installExample("handler-in-workers"))).toEqual([
    '200 [{"id":9223372036854775807,"petId":3}] limit: 300',
    "204  limit: 300",
    expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* limit: 300$/),
    expect.stringMatching(/^401 \{"code":"missing_api_key",.* limit: 60$/),
    expect.stringMatching(/^200 \{"openapi":"3.1.0",.* limit: -$/),
  ]);
});

test("each order that a worker ships while the API cancels it ends in one status that both report", async () => {
  const [orders, statuses = "", wrong] = await printed(await installExample("shipping-worker"));
  expect([orders, wrong]).toEqual(["orders: 400, pending: 0", "wrong results: 0"]);
  const [, shipped, cancelled] = /^shipped: (\d+), cancelled: (\d+)$/.exec(statuses) ?? [];
  expect(Number(shipped) + Number(cancelled)).toBe(400);
  expect(Math.min(Number(shipped), Number(cancelled))).toBeGreaterThan(0);
});

test("a store of one's own passes every case of the exported contract", async () => {
  const [summary = ""] = await printed(await installExample("own-store"));
  expect(summary).toMatch(/^passed: [3-9]\d, failed: 0$/);
});

test("a Pulumi program of one's own publishes its API under a custom domain", async () => {
  const example = join(ROOT, "test/examples/own-domain");
  const home = join(folder, "own-domain");
  const { dependencies } = await readJson(join(example, "package.json"));
  const { devDependencies } = await readJson(join(ROOT, "package.json"));
  expect(devDependencies).toMatchObject(dependencies ?? {});

  // The SDKs have hundreds of megabytes, so they are linked: the repository has the same versions.
  await mkdir(home);
  await cp(join(example, "main.ts"), join(home, "main.ts"));
  await writeFile(join(home, "package.json"), '{"type":"module","private":true}');
  await install(home, tarball);
  for (const name of ["@pulumi", "esbuild"])
    await symlink(join(ROOT, "node_modules", name), join(home, "node_modules", name));
  expect(await typeErrors(home, ["main.ts"])).toBe("");

  const { code, errors, registrations, stackOutputs } = await runProgram({
    program: join(home, "main.ts"),
    stack: "production",
    config: { "own-domain:host": "hello.example.com", "own-domain:zoneId": "zone-of-example.com" },
    cloud: cloud(),
  });
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(stackOutputs).toEqual({
    host: "hello.example.com",
    target: "d-helloexamplecom.execute-api.eu-central-1.amazonaws.com",
    state: "live",
  });
  const records = registrations.filter(({ type }) => type === "cloudflare:index/dnsRecord:DnsRecord");
  expect(records.map(({ inputs }) => [inputs["name"], inputs["proxied"], inputs["ttl"]])).toEqual([
    ["_0123.hello.example.com", false, 3600],
    ["hello.example.com", false, 3600],
  ]);
});
