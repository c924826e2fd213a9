import { expect, test } from "vitest";
import { type FoundHost, hostLookup } from "../../lib/domains/host-lookup.ts";
import { createHandlerFixture } from "./fixture.ts";

async function openDatabase() {
  const rows = new Map<string, FoundHost>([
    ["shop.customer.com", "serve"],
    ["www.customer.com", { redirectTo: "shop.customer.com" }],
    ["new.customer.com", "serve"],
  ]);
  const asked: string[] = [];
  let now = 1_000_000;
  const slow = { pause: Promise.resolve() };
  const find = async (host: string) => {
    asked.push(host);
    await slow.pause;
    return rows.get(host);
  };
  const lookup = hostLookup(find, { platformHosts: ["localhost"], clock: () => now });
  const { handler } = await createHandlerFixture({ hosts: () => lookup, clock: () => now });
  // Without a `Request` each, thousands of requests take less time.
  const request = { method: "GET", url: "http://localhost/v1/store/orders?a=1", headers: new Headers() };
  const status = async (host: string, address = "192.0.2.1") => {
    const { status, headers } = (await handler.respond?.(request, { host, address })) ?? expect.fail();
    return [status, headers["location"] ?? null];
  };
  const wait = (milliseconds: number) => {
    now += milliseconds;
  };
  return { rows, asked, lookup, status, slow, wait };
}

test.each([
  ["shop.customer.com", [401, null]],
  ["SHOP.customer.com.:443", [401, null]],
  ["www.customer.com", [301, "https://shop.customer.com/v1/store/orders?a=1"]],
  ["localhost", [401, null]],
  ["other.com", [421, null]],
  ["", [421, null]],
  ["a b", [421, null]],
])("%j is answered with %j", async (host, expected) => {
  const { status } = await openDatabase();
  expect(await status(host)).toEqual(expected);
});

test("a host that is removed is not served from the next request on, and one that is added is after ten seconds", async () => {
  const { rows, status, lookup, wait } = await openDatabase();
  expect(await lookup.isCustomHost("shop.customer.com")).toBe(true);
  expect(await status("shop.customer.com")).toEqual([401, null]);
  rows.delete("shop.customer.com");
  expect(await status("shop.customer.com")).toEqual([421, null]);
  expect(await lookup.isCustomHost("shop.customer.com")).toBe(false);
  rows.set("shop.customer.com", "serve");
  wait(10_000);
  expect(await status("shop.customer.com")).toEqual([401, null]);
  rows.delete("shop.customer.com");
  expect(await status("shop.customer.com")).toEqual([421, null]);
  rows.set("shop.customer.com", "serve");
  // The clock was wrong, and is corrected.
  wait(-5_000);
  expect(await status("shop.customer.com")).toEqual([401, null]);
  expect(await lookup.isCustomHost("localhost")).toBe(false);
});

test("an unknown host is looked up once, also if it is asked for a thousand times", async () => {
  const { asked, status } = await openDatabase();
  for (let index = 0; index < 1000; index++) expect((await status("other.com"))[0]).toBe(421);
  expect(asked).toEqual(["other.com"]);
});

test("an address that makes up hosts gets few lookups; another address, and a known host, get all", async () => {
  const { asked, status, wait } = await openDatabase();
  expect((await status("shop.customer.com"))[0]).toBe(401);
  for (let index = 0; index < 1000; index++) expect((await status(`h${index}.com`))[0]).toBe(421);
  expect(asked.length).toBeLessThan(70);
  expect((await status("shop.customer.com"))[0]).toBe(401);
  expect((await status("www.customer.com", "198.51.100.1"))[0]).toBe(301);
  expect((await status("new.customer.com"))[0]).toBe(421);
  wait(5_000);
  expect((await status("new.customer.com"))[0]).toBe(401);
});

test("one host under many names of its own does not drive out the others that were found", async () => {
  const { asked, status } = await openDatabase();
  expect((await status("shop.customer.com"))[0]).toBe(401);
  for (let index = 0; index < 70; index++) await status(`h${index}.com`);
  for (let port = 1; port <= 10_001; port++) await status(`new.customer.com:${port}`, "198.51.100.1");
  expect((await status("SHOP.customer.com"))[0]).toBe(401);
  expect(asked.filter((host) => host.length > 253)).toEqual([]);
});

test("lookups that have not ended count, and a name that is no host is never looked up", async () => {
  const { asked, status, slow } = await openDatabase();
  const pause = Promise.withResolvers<void>();
  slow.pause = pause.promise;
  const first = status("h.com", "198.51.100.1");
  const replies = Array.from({ length: 1000 }, (_, index) => status(`h${index}.com`));
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked.length).toBeLessThan(70);
  pause.resolve();
  for (const [code] of await Promise.all([first, ...replies])) expect(code).toBe(421);
  const before = asked.length;
  expect((await status(`${"a".repeat(63)}.`.repeat(5), "203.0.113.1"))[0]).toBe(421);
  expect(asked.length).toBe(before);
});

test("a health check waits for no lookup, and a database that is down fails every other request", async () => {
  const route = async () => {
    throw new Error("connection refused");
  };
  const { handler } = await createHandlerFixture({ hosts: () => ({ route }) });
  const status = async (path: string) => (await handler(new Request(`http://10.0.0.7${path}`))).status;
  for (const path of ["/healthz", "/healthz", "/readyz"]) expect(await status(path)).toBe(200);
  expect(await status("/v1/store/orders")).toBe(500);
});

test("a redirect to what is no host is an error", async () => {
  const { rows, status } = await openDatabase();
  rows.set("bad.com", { redirectTo: "evil.example/\r\nx" });
  expect(await status("bad.com")).toEqual([500, null]);
});
