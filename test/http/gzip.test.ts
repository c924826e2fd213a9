import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { acceptsGzip, cachedDocument } from "../../lib/http/compression.ts";
import { performStoreOperation } from "../../lib/orders/store-operation.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, manyOrders } from "./fixture.ts";

test("a gzip list has the same content and a Vary header", async () => {
  const store = createMemoryStore();
  const { handler, key } = await createHandlerFixture({ store });
  await store.orders.place(manyOrders(2_000));
  const get = async (headers: Record<string, string>) => {
    const request = new Request("http://localhost/v1/store/orders", {
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    const response = await handler(request);
    return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const plain = await get({});
  const gzip = await get({ "accept-encoding": "br, gzip" });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(gzip.headers.get("content-encoding")).toBe("gzip");
  for (const { headers } of [plain, gzip]) expect(headers.get("vary")).toBe("accept-encoding");
  expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
  expect(gzip.bytes.length).toBeLessThan(plain.bytes.length / 2);
  expect(JSON.parse(plain.bytes.toString())).toHaveLength(2_004);
});

test.each([
  [1_023, null],
  [1_024, "gzip"],
])("a list of one page with %i characters has the content encoding %s", async (length, coding) => {
  const store = createMemoryStore();
  const json = `"${"a".repeat(length - 4)}"`;
  store.orders.list = async function* () {
    yield { json, last: true };
  };
  const { send } = await createHandlerFixture({ store });
  const { headers } = await send("GET", "/v1/store/orders", { "accept-encoding": "gzip" });
  expect([headers.get("content-encoding"), headers.get("vary")]).toEqual([coding, "accept-encoding"]);
  const plain = await send("GET", "/v1/store/orders");
  expect([plain.headers.get("content-encoding"), plain.text]).toEqual([null, `[${json}]`]);
});

test("a HEAD of a long list reads one page and releases the store, with and without gzip", async () => {
  const store = createMemoryStore();
  const seen = { pages: 0, released: 0 };
  async function* list() {
    try {
      for (let page = 0; page < 1_000; page++) {
        await new Promise(setImmediate);
        seen.pages += 1;
        yield { json: `{"id":${page}}`, last: page === 999 };
      }
    } finally {
      seen.released += 1;
    }
  }
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
  };
  const orders = { ...store.orders, list };
  /** Like a store with transactions: reads the first page in that of the admission, and then waits for its commit. */
  const admit: AccountStore["admit"] = async (key, at, policy, operation) => {
    const admission = await store.accounts.admit(key, at, policy);
    const outcome = operation && (await performStoreOperation(orders, operation, at));
    await turns(20);
    return admission.ok && outcome !== undefined ? { ...admission, outcome } : admission;
  };
  const { events, send } = await createHandlerFixture({
    store: { ...store, orders, accounts: { ...store.accounts, performsOn: orders, admit } },
  });
  for (const [encoding, expected] of [
    ["identity", null],
    ["gzip", "gzip"],
  ] as const) {
    Object.assign(seen, { pages: 0, released: 0 });
    const { headers, text } = await send("HEAD", "/v1/store/orders", { "accept-encoding": encoding });
    expect([headers.get("content-encoding"), text]).toEqual([expected, ""]);
    await turns(20);
    expect(seen, encoding).toEqual({ pages: 1, released: 1 });
    expect(events.at(-1)).toMatchObject({ method: "HEAD", status: 200, bodyEnd: "complete" });
  }
});

test.each([
  [null, false],
  ["", false],
  ["gzip", true],
  ["GZIP", true],
  ["deflate, gzip;q=0.5", true],
  ["gzip;q=0", false],
  ["gzip; q=0.0", false],
  ["*", true],
  ["*;q=0", false],
  ["gzip;q=0, *", false],
  ["identity", false],
  ["gzipped", false],
])("Accept-Encoding %j allows gzip: %s (RFC 9110, section 12.5.3)", (header, accepted) => {
  expect(acceptsGzip(header)).toBe(accepted);
});

test("an Accept-Encoding that is too long to be cheap is ignored", () => {
  expect(acceptsGzip(`gzip${",".repeat(8_000)}`)).toBe(false);
});

test("a document above 256 KiB is sent compressed, also without Accept-Encoding, and is 406 if that refuses gzip", async () => {
  const limit = 256 * 1024;
  const fields = { "content-type": "text/plain" };
  const [small, large] = [limit, limit + 1].map((size) => cachedDocument("a".repeat(size), fields));
  const { handler } = await createHandlerFixture({
    documents: async (path, request) => (path === "/small" ? small : large)?.(request),
  });
  const get = async (path: string, headers: Record<string, string>) => {
    const response = await handler(new Request(`http://localhost${path}`, { headers }));
    const { status } = response;
    const [coding, vary, type] = ["content-encoding", "vary", "content-type"].map((name) =>
      response.headers.get(name),
    );
    return { response, told: [status, coding, vary, type] };
  };
  const plain = [200, null, "accept-encoding", "text/plain"];
  const gzip = [200, "gzip", "accept-encoding", "text/plain"];
  for (const [path, accepted, expected] of [
    ["/small", undefined, plain],
    ["/small", "identity", plain],
    ["/small", "gzip", gzip],
    ["/large", undefined, gzip],
    ["/large", "gzip", gzip],
    ["/large", "identity", [406, null, "accept-encoding", "application/json"]],
    ["/large", "", [406, null, "accept-encoding", "application/json"]],
  ] as const) {
    const { told } = await get(path, accepted === undefined ? {} : { "accept-encoding": accepted });
    expect(told, `${path} ${accepted}`).toEqual(expected);
  }
  const { response } = await get("/large", { "accept-encoding": "br" });
  const text = await response.text();
  expect(codeOf({ status: response.status, headers: response.headers, text })).toBe("not_acceptable");
});
