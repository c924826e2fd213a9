import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { acceptsGzip } from "../../lib/http/compression.ts";
import { performStoreOperation } from "../../lib/orders/store-operation.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "./fixture.ts";

test("a gzip list has the same content and a Vary header", async () => {
  const store = createMemoryStore();
  const { handler, key } = await createHandlerFixture({ store });
  await store.orders.place(
    Array.from({ length: 2_000 }, (_, id) => ({ record: { id: BigInt(id) + 10n }, status: "pending" })),
  );
  const get = async (headers: Record<string, string>) => {
    const request = new Request("http://localhost/v1/store/orders", {
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    const response = await handler(request);
    return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const plain = await get({});
  const gzip = await get({ "accept-encoding": "br, gzip" });
  expect([plain.headers.get("content-encoding"), gzip.headers.get("content-encoding")]).toEqual([
    null,
    "gzip",
  ]);
  expect([plain.headers.get("vary"), gzip.headers.get("vary")]).toEqual([
    "accept-encoding",
    "accept-encoding",
  ]);
  expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
  expect(gzip.bytes.length).toBeLessThan(plain.bytes.length / 2);
  expect(JSON.parse(plain.bytes.toString())).toHaveLength(2_004);
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
  /** Like a store with transactions: reads the first page in that of the admission, and then waits for its commit. */
  const admit: AccountStore["admit"] = async (key, at, policy, operation) => {
    const admission = await store.accounts.admit(key, at, policy);
    const outcome = operation && (await performStoreOperation({ ...store.orders, list }, operation, at));
    await turns(20);
    return admission.ok && outcome !== undefined ? { ...admission, outcome } : admission;
  };
  const { send } = await createHandlerFixture({
    store: { ...store, orders: { ...store.orders, list }, accounts: { ...store.accounts, admit } },
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

test("the OpenAPI document has the same content with gzip", async () => {
  const { handler } = await createHandlerFixture();
  const get = async (coding: string) => {
    const headers = { "accept-encoding": coding };
    const response = await handler(new Request("http://localhost/openapi.json", { headers }));
    return {
      coding: response.headers.get("content-encoding"),
      bytes: Buffer.from(await response.arrayBuffer()),
    };
  };
  const [plain, gzip] = [await get("identity"), await get("gzip")];
  expect([plain.coding, gzip.coding]).toEqual([null, "gzip"]);
  expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
});
