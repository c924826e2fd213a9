import { globSync } from "node:fs";
import { cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { cloud } from "../infra/harness/cloud.ts";
import { AWS, deploy } from "../infra/harness/deployed.ts";
import { run as runProgram } from "../infra/harness/program.ts";
import { clientFor } from "../support/dynamodb/emulator.ts";
import { install, newFolder, packInto, ROOT, readJson, runSuccessfully, typeErrors } from "./installed.ts";

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
  return (await runSuccessfully(home, "node", ["main.ts"])).trim().split("\n");
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

/** What each framework with the handler below /shop responds, after the home page. */
const BELOW_SHOP = [
  '200 [{"id":9223372036854775807,"petId":3}] limit: 300',
  "204  limit: 300",
  expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* limit: 300$/),
  expect.stringMatching(/^401 \{"code":"missing_api_key",.* limit: 60$/),
  '200 {"status":"ok"} limit: -',
];

test("the handler works under a path of an Express application", async () => {
  const lines = await printed(await installExample("handler-in-express"));
  expect(lines).toEqual(["200 the home page limit: -", ...BELOW_SHOP]);
});

test("the handler works under a path of a Fastify application", async () => {
  const lines = await printed(await installExample("handler-in-fastify"));
  expect(lines).toEqual(["200 the home page limit: -", ...BELOW_SHOP]);
});

test("the handler works as a route of a Next.js application", { timeout: 400_000 }, async () => {
  expect(await printed(await installExample("handler-in-next"))).toEqual(BELOW_SHOP);
});

test("a service places and ships orders beside a deployed stack, which lists and cancels them", async () => {
  const home = await installExample("beside-a-stack");
  const deployed = await deploy(await runProgram({ stack: "production", bundle: true, cloud: cloud() }));
  onTestFinished(() => deployed.stop());
  const client = clientFor(deployed.endpoint);
  const store = createDynamodbStore({ prefix: "store-orders-production", client });
  const accounts = createAccounts({ store: store.accounts, environment: "live" });
  await accounts.create("acme", { plan: "pro" });
  const issued = await accounts.issueKey("acme");
  client.destroy();
  const headers = { authorization: `Bearer ${issued.ok ? issued.key : ""}` };
  const call = async (method: string, path: string) => {
    const { status, body } = await deployed.fetch(method, `https://orders.example.com/v1${path}`, headers);
    return `${status} ${body}`.slice(0, 60);
  };
  const service = async (...args: string[]) => {
    const env = { ...AWS, AWS_ENDPOINT_URL: deployed.endpoint };
    return (await runSuccessfully(home, "node", ["main.ts", ...args], env)).trim().split("\n");
  };

  expect(await service("place", "1", "2")).toEqual(["1: place, now pending", "2: place, now pending"]);
  expect(await call("GET", "/store/orders")).toBe('200 [{"id":1,"quantity":1},{"id":2,"quantity":1}]');
  expect(await call("DELETE", "/store/orders/1")).toBe("204 ");
  expect(await service("ship", "1", "2")).toEqual(["1: order_already_cancelled", "2: ship, now shipped"]);
  expect(await call("DELETE", "/store/orders/2")).toMatch(/^409 \{"code":"order_already_shipped"/);
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

test("a custom store passes every case of the exported contract", async () => {
  const [summary = ""] = await printed(await installExample("own-store"));
  expect(summary).toMatch(/^passed: [3-9]\d, failed: 0$/);
});

test("a service verifies the domains of thousands of customers with its own queue and the lifecycle", async () => {
  expect(await printed(await installExample("verify-customer-domains"))).toEqual([
    "at most 32 at the same time",
    "first check: 1800 certificate_pending, 50 needs_attention (certificate_forbidden), 150 pending_dns",
    "after a minute: 1 certificate_pending, 1798 live, 1 needs_attention (certificate_failed), 50 needs_attention (certificate_forbidden), 150 pending_dns",
    "after 31 minutes: 1798 live, 1 needs_attention (certificate_failed), 50 needs_attention (certificate_forbidden), 1 needs_attention (certificate_overdue), 150 pending_dns",
    "to the customer: The certificate is not valid, or its authority rejected it.",
    "at most 32 at the same time",
    "second check: 202 certificate_pending, 1798 live",
    "in the end: 2000 live",
  ]);
});

/**
 * Installs an example that is a Pulumi program. The SDKs have hundreds of megabytes, so they are linked: the repository
 * has the same versions.
 */
async function installProgram(name: string): Promise<string> {
  const example = join(ROOT, "test/examples", name);
  const home = join(folder, name);
  const { dependencies } = await readJson(join(example, "package.json"));
  const { devDependencies } = await readJson(join(ROOT, "package.json"));
  expect(devDependencies).toMatchObject(dependencies ?? {});

  await mkdir(home);
  for (const file of globSync("*.ts", { cwd: example })) await cp(join(example, file), join(home, file));
  await writeFile(join(home, "package.json"), '{"type":"module","private":true}');
  await install(home, tarball);
  for (const linked of ["@pulumi", "esbuild"])
    await symlink(join(ROOT, "node_modules", linked), join(home, "node_modules", linked));
  expect(await typeErrors(home, globSync("*.ts", { cwd: home }))).toBe("");
  return home;
}

test("domains that are defined in TypeScript are served and deployed from the same module", async () => {
  const home = await installProgram("domains-in-code");
  const location = "https://orders.example.com/v1/store/orders?limit=1";
  expect((await runSuccessfully(home, "node", ["serve.ts"])).trim().split("\n")).toEqual([
    "orders.example.com: 401 -",
    "api.example.com: 401 -",
    `example.com: 301 ${location}`,
    `www.example.com: 301 ${location}`,
    `xn--bcher-kva.example.com: 301 ${location}`,
    "unknown.example.com: 421 -",
  ]);

  const { code, errors, stackOutputs } = await runProgram({
    program: join(home, "deploy.ts"),
    stack: "production",
    config: {},
    cloud: cloud(),
  });
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  const output = (role: string, name: string, host: string) => ({
    role,
    state: "live",
    record: {
      ...{ type: "CNAME", name, zone: "example.com", ttl: 3600 },
      value: `d-${host.replaceAll(".", "")}.execute-api.eu-central-1.amazonaws.com`,
    },
    reason: "The record points to the API.",
    next: [],
  });
  expect(stackOutputs).toEqual({
    baseUrl: "https://orders.example.com/v1",
    domainStatus: {
      "orders.example.com": output("primary", "orders", "orders.example.com"),
      "api.example.com": output("alias", "api", "api.example.com"),
      "example.com": output("redirect", "@", "example.com"),
      "www.example.com": output("redirect", "www", "www.example.com"),
      "xn--bcher-kva.example.com": output("redirect", "xn--bcher-kva", "xn--bcher-kva.example.com"),
    },
  });
});

test("an editor shows what is wrong with a mapping in TypeScript, and nothing serves an unvalidated one", async () => {
  const home = join(folder, "domains-in-code");
  const mistakes = `
import { defineDomains, hostTable } from "store-orders/domains";
import { withDefaults } from "store-orders/infra";
export const misspelled = defineDomains({ primray: "orders.example.com" });
export const status = defineDomains({ primary: "a.example.com", redirects: [{ from: "b.example.com", to: "a.example.com", status: 302 }] });
export const plan = defineDomains({ primary: "a.example.com" }, { plan: "gold" });
export const table = hostTable({ primary: "orders.example.com", aliases: [], redirects: [] });
export const settings = withDefaults({ plan: "pro", domains: { primary: "orders.example.com" } });
`;
  await writeFile(join(home, "mistakes.ts"), mistakes);
  const errors = (await typeErrors(home, ["mistakes.ts"]))
    .split("\n")
    .filter((line) => line.startsWith("mistakes.ts"));
  expect(errors.map((line) => /\((\d+),/.exec(line)?.[1])).toEqual(["4", "5", "6", "7", "8"]);
  expect(errors[0]).toContain("primary");
});

test("another Pulumi program publishes its API under a custom domain", async () => {
  const home = await installProgram("own-domain");
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
