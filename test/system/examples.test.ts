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

/** Copies an example to a place of its own, installs the tarball in it, and checks its types. */
async function settle(example: string): Promise<string> {
  const home = join(folder, example);
  await cp(join(ROOT, "test/examples", example), home, { recursive: true });
  await install(home, tarball);
  expect(await typeErrors(home, globSync("*.ts", { cwd: home }))).toBe("");
  return home;
}

/** The lines that an example prints. */
async function printed(home: string): Promise<readonly string[]> {
  return (await succeed(home, "node", ["main.ts"])).trim().split("\n");
}

test("the rules decide in a Fastify service with routes of its own", async () => {
  expect(await printed(await settle("rules-in-fastify"))).toEqual([
    '201 {"id":7,"petId":9007199254740993,"quantity":2} left: 59 wait: -',
    '200 {"status":"cancelled"} left: 58 wait: -',
    expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* left: 57 wait: -$/),
    expect.stringMatching(/^404 \{"code":"order_not_found",.* left: 56 wait: -$/),
    expect.stringMatching(/^401 \{"code":"invalid_api_key",.* left: 59 wait: -$/),
    expect.stringMatching(/^429 \{"code":"rate_limit_exceeded",.* left: 0 wait: 60$/),
  ]);
});

test("the handler answers under a path of a Hono application", async () => {
  expect(await printed(await settle("handler-in-hono"))).toEqual([
    "200 the shop's own page limit: -",
    '200 [{"id":9223372036854775807,"petId":3}] limit: 300',
    "204  limit: 300",
    expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* limit: 300$/),
    expect.stringMatching(/^401 \{"code":"missing_api_key",.* limit: 60$/),
    expect.stringMatching(/^200 \{"openapi":"3.1.0",.* limit: -$/),
  ]);
});

test("a worker ships while the API cancels: each order ends in one state, and nobody was told another", async () => {
  const [orders, states = "", misled] = await printed(await settle("shipping-worker"));
  expect([orders, misled]).toEqual(["orders: 400, pending: 0", "told something else than what is: 0"]);
  const [, shipped, cancelled] = /^shipped: (\d+), cancelled: (\d+)$/.exec(states) ?? [];
  expect(Number(shipped) + Number(cancelled)).toBe(400);
  expect(Math.min(Number(shipped), Number(cancelled))).toBeGreaterThan(0);
});

test("a store written by somebody else keeps every promise of the exported contract", async () => {
  const [told = ""] = await printed(await settle("own-store"));
  expect(told).toMatch(/^promises kept: [3-9]\d, broken: 0$/);
});

test("a Pulumi program of one's own puts its API under a host", async () => {
  const example = join(ROOT, "test/examples/own-domain");
  const home = join(folder, "own-domain");
  const wanted = await readJson(join(example, "package.json"));
  const ours = await readJson(join(ROOT, "package.json"));
  expect(ours["devDependencies"]).toMatchObject(wanted["dependencies"] ?? {});

  // The SDKs are hundreds of megabytes, and the repository has the very versions that the example wants.
  await mkdir(home);
  await cp(join(example, "main.ts"), join(home, "main.ts"));
  await writeFile(join(home, "package.json"), '{"type":"module","private":true}');
  await install(home, tarball);
  for (const ours of ["@pulumi", "esbuild"])
    await symlink(join(ROOT, "node_modules", ours), join(home, "node_modules", ours));
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
