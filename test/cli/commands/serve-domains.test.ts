import { renameSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useCommandLine } from "../../support/command-line.ts";
import { openSocket } from "../../support/http/raw-connection.ts";
import { DOMAINS_FILE } from "./domains-fixture.ts";

const cli = useCommandLine();
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
  const { url, stop } = await cli.serve(["--domains", "served.yaml", "--plan", "pro"]);
  const get = createGet(url);
  const location = "https://orders.example.com/v1/store/orders?a=1&b=%2F";
  expect(await get("orders.example.com")).toEqual([401, undefined]);
  expect(await get("ORDERS.EXAMPLE.COM.:8787")).toEqual([401, undefined]);
  expect(await get("www.orders.example.com")).toEqual([301, location]);
  expect(await get("WWW.orders.example.com:8787")).toEqual([301, location]);
  expect(await get("evil.example")).toEqual([421, undefined]);
  expect(await get(new URL(url).host)).toEqual([401, undefined]);
  expect(await get("localhost")).toEqual([401, undefined]);
  // In HTTP/1.0, the host may only be in the target.
  const statusOf = async (target: string) => {
    const connection = openSocket(url);
    connection.send(`GET ${target} HTTP/1.0\r\n\r\n`);
    return (await connection.closed()).responses[0]?.status;
  };
  expect(await statusOf("http://evil.example/v1/store/orders")).toBe(421);
  expect(await statusOf("http://www.orders.example.com/v1/store/orders")).toBe(301);
  expect(await statusOf("http://orders.example.com/v1/store/orders")).toBe(401);
  expect(await statusOf("http://x:99999/v1/store/orders")).toBe(400);
  expect(await statusOf("http://a@b/v1/store/orders")).toBe(400);
  expect(await statusOf("/v1/store/orders")).toBe(401);

  writeFileSync(`${file}.new`, "domains: { primary: orders.example.com }");
  renameSync(`${file}.new`, file);
  expect(await get("www.orders.example.com")).toEqual([421, undefined]);
  const { status, stderr } = await stop();
  expect(status).toBe(0);
  expect(stderr).toContain("served.yaml has changed and is now in effect.");
});

test("serve --platform-host serves further names, and /domains/ask answers 200 exactly for the mapping", async () => {
  const names = ["--platform-host", "orders-api", "--platform-host", "orders_api", "host.docker.internal"];
  const { url, message, stop } = await cli.serve(
    ["--metrics", "0", "--domains", "domains.yaml", "--plan", "pro", ...names],
    { pattern: /^metrics.*\n/m },
  );
  const get = createGet(url);
  for (const host of ["orders-api", "ORDERS-API:8787", "orders_api", "host.docker.internal:80"]) {
    expect(await get(host)).toEqual([401, undefined]);
  }
  expect(await get("orders-db")).toEqual([421, undefined]);
  const ask = new URL("/domains/ask", /^metrics\s+(\S+)/m.exec(message)?.[1]);
  const answers = async (domain: string) =>
    (await fetch(`${ask}?domain=${encodeURIComponent(domain)}`)).status;
  for (const host of ["orders.example.com", "WWW.orders.example.com."]) expect(await answers(host)).toBe(200);
  const others = ["orders-api", "localhost", "127.0.0.1", "example.com", "", "orders.example.com/x", "*"];
  for (const host of others) expect(await answers(host)).toBe(404);
  expect((await fetch(ask)).status).toBe(404);
  expect((await stop()).status).toBe(0);
});

test.each([
  ["--platform-host", "orders-api:8787", "without a port"],
  ["--platform-host", "http://orders-api", "Write a name or an IP address"],
  ["--platform-host", "orders-api", "Without --domains every host is served."],
  [
    "--platform-host=orders.example.com",
    "--domains=domains.yaml",
    "orders.example.com is also in domains.yaml",
  ],
])("serve %s %s exits with 2 and the reason", async (flag, value, reason) => {
  const { status, stderr } = await cli.run(["serve", "--port", "0", "--plan", "pro", flag, value]);
  expect([status, stderr]).toEqual([2, expect.stringContaining(reason)]);
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

test("serve --domains on the plan free serves only its own names if the file has no domains", async () => {
  const file = join(cli.directory, "empty.yaml");
  writeFileSync(file, "domains: {}");
  const { url, stop } = await cli.serve(["--domains", "empty.yaml"]);
  const get = createGet(url);
  expect(await get("localhost")).toEqual([401, undefined]);
  expect(await get("orders.example.com")).toEqual([421, undefined]);
  writeFileSync(`${file}.new`, DOMAINS_FILE);
  renameSync(`${file}.new`, file);
  expect(await get("orders.example.com")).toEqual([421, undefined]);
  expect((await stop()).stderr).toContain(
    "empty.yaml has changed and is invalid; keeping the previous configuration",
  );
});
