import { renameSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createCommandLine, waitForExit, waitForOutput } from "../../support/command-line.ts";
import { DOMAINS_FILE } from "./domains-fixture.ts";

const cli = createCommandLine({ shareProcess: true });
afterAll(() => cli[Symbol.dispose]());
writeFileSync(join(cli.directory, "domains.yaml"), DOMAINS_FILE);

/** Sends requests with any Host header, which fetch does not allow. */
const createGet =
  (url: string) =>
  (host: string, path = "/v1/store/orders?a=1&b=%2F") =>
    new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
      const sent = request(url, { path, headers: { host } }, (response) => {
        response.resume();
        resolve([response.statusCode, response.headers.location]);
      });
      sent.on("error", reject).end();
    });

test("serve --domains routes by Host, and a change of the file takes effect at the next request", async () => {
  const file = join(cli.directory, "served.yaml");
  writeFileSync(file, DOMAINS_FILE);
  const server = cli.spawn(["serve", "--port", "0", "--domains", "served.yaml", "--plan", "pro"]);
  const log = waitForExit(server);
  const [, url = ""] = /(http:\S+)\/v1/.exec(await waitForOutput(server, /^database.*\n/m)) ?? [];
  const get = createGet(url);
  const location = "https://orders.example.com/v1/store/orders?a=1&b=%2F";
  expect(await get("orders.example.com")).toEqual([401, undefined]);
  expect(await get("ORDERS.EXAMPLE.COM.:8787")).toEqual([401, undefined]);
  expect(await get("www.orders.example.com")).toEqual([301, location]);
  expect(await get("WWW.orders.example.com:8787")).toEqual([301, location]);
  expect(await get("evil.example")).toEqual([421, undefined]);
  expect(await get(new URL(url).host)).toEqual([401, undefined]);
  expect(await get("localhost")).toEqual([401, undefined]);

  writeFileSync(`${file}.new`, "domains: { primary: orders.example.com }");
  renameSync(`${file}.new`, file);
  expect(await get("www.orders.example.com")).toEqual([421, undefined]);
  writeFileSync(`${file}.new`, "domains: { primary: 5 }");
  renameSync(`${file}.new`, file);
  expect(await get("orders.example.com")).toEqual([401, undefined]);
  writeFileSync(`${file}.new`, "domains: {}");
  renameSync(`${file}.new`, file);
  expect(await get("orders.example.com")).toEqual([421, undefined]);
  expect(await get("localhost")).toEqual([401, undefined]);
  server.kill("SIGTERM");
  const { status, stderr } = await log;
  expect(status).toBe(0);
  expect(stderr).toContain("served.yaml has changed and is now in effect.");
  expect(stderr).toContain(
    "served.yaml has changed and is invalid; keeping the previous configuration: served.yaml: domains.primary:",
  );
});

test.each([
  ["no plan", [], {}],
  ["--plan free", ["--plan", "free"], { STORE_ORDERS_PLAN: "pro" }],
  ["STORE_ORDERS_PLAN=free", [], { STORE_ORDERS_PLAN: "free" }],
])("serve --domains with %s exits with 2, because domains need the plan pro", async (_name, flags, env) => {
  const serve = ["serve", "--port", "0", "--domains", "domains.yaml", ...flags];
  const { status, stdout, stderr } = await cli.run(serve, { env });
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("domains: Custom domains need the plan 'pro' or above, but the plan is 'free'.");
});

test("serve with an unknown plan exits with 2", async () => {
  const flag = await cli.run(["serve", "--plan", "gold"]);
  expect([flag.status, flag.stderr]).toEqual([2, expect.stringContaining("free, pro, business, enterprise")]);
  const variable = await cli.run(["serve"], { env: { STORE_ORDERS_PLAN: "gold" } });
  expect([variable.status, variable.stderr]).toEqual([
    2,
    expect.stringContaining("STORE_ORDERS_PLAN: 'gold' is invalid. Use one of"),
  ]);
});

test("serve --domains on the plan free serves only its own names if the file has no domains", async () => {
  const file = join(cli.directory, "empty.yaml");
  writeFileSync(file, "domains: {}");
  const server = cli.spawn(["serve", "--port", "0", "--domains", "empty.yaml"]);
  const exit = waitForExit(server);
  const [, url = ""] = /(http:\S+)\/v1/.exec(await waitForOutput(server, /^database.*\n/m)) ?? [];
  const get = createGet(url);
  expect(await get("localhost")).toEqual([401, undefined]);
  expect(await get("orders.example.com")).toEqual([421, undefined]);
  writeFileSync(`${file}.new`, DOMAINS_FILE);
  renameSync(`${file}.new`, file);
  expect(await get("orders.example.com")).toEqual([421, undefined]);
  server.kill("SIGTERM");
  expect((await exit).stderr).toContain(
    "empty.yaml has changed and is invalid; keeping the previous configuration",
  );
});
