import { describe, expect, test, vi } from "vitest";
import { BAN_GRACE_MS } from "../../lib/accounts/admission.ts";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, factsOf } from "./fixture.ts";

describe("authentication", () => {
  test.each([
    ["no header", {}, "missing_api_key"],
    ["another scheme", { authorization: "Basic abc" }, "missing_api_key"],
    ["a scheme that only ends like it", { authorization: "xBearer abc" }, "missing_api_key"],
    ["no key behind the scheme", { authorization: "Bearer" }, "missing_api_key"],
    ["something that is no key", { authorization: "Bearer abc" }, "invalid_api_key"],
    ["a wrong checksum", { authorization: `Bearer so_test_shop_${"0".repeat(38)}` }, "invalid_api_key"],
  ])("%s is rejected with 401 and a challenge", async (_name, headers, code) => {
    const { handler } = await createHandlerFixture();
    for (const [method, path] of [
      ["GET", "/v1/store/orders"],
      ["DELETE", "/v1/store/orders/1"],
      ["GET", "/nowhere"],
    ] as const) {
      const response = await handler(new Request(`http://localhost${path}`, { method, headers }));
      const answer = { status: response.status, headers: response.headers, text: await response.text() };
      expect([answer.status, codeOf(answer)]).toEqual([401, code]);
      expect(answer.headers.get("www-authenticate")).toBe(
        `Bearer realm="store-orders"${code === "invalid_api_key" ? ', error="invalid_token"' : ""}`,
      );
    }
  });

  test.each(["bearer", "BEARER", "bEaReR ", "Bearer \t"])("the scheme in any case: %j", async (scheme) => {
    const { send, key } = await createHandlerFixture();
    expect((await send("GET", "/v1/store/orders", { authorization: `${scheme} ${key}` })).status).toBe(200);
  });

  test("a request with two Authorization headers is rejected", async () => {
    const { handler, key } = await createHandlerFixture();
    const headers = new Headers(Array(2).fill(["authorization", `Bearer ${key}`]));
    const response = await handler(new Request("http://localhost/v1/store/orders", { headers }));
    expect(response.status).toBe(401);
  });

  test("an address that guesses keys gets 60 responses with 401 a minute, then 429", async () => {
    const { send, time, key } = await createHandlerFixture();
    const guess = { authorization: "Bearer guess" };
    for (let call = 1; call <= 60; call++) {
      const { status, headers } = await send("GET", "/v1/store/orders", guess);
      expect([status, headers.get("x-ratelimit-remaining")]).toEqual([401, `${60 - call}`]);
    }
    const refused = await send("GET", "/v1/store/orders", guess);
    expect(factsOf(refused, "retry-after")).toEqual([429, "rate_limit_exceeded", "60"]);
    expect((await send("GET", "/v1/store/orders", guess, { address: "192.0.2.9" })).status).toBe(401);
    expect((await send("GET", "/v1/store/orders", { authorization: `Bearer ${key}` })).status).toBe(200);
    time.now += MINUTE_MS;
    expect((await send("GET", "/v1/store/orders", guess)).status).toBe(401);
  });
});

describe("limits", () => {
  test("every admitted request counts, whatever its outcome, and a rejected one does not", async () => {
    const { send } = await createHandlerFixture();
    const left = async (method: string, path: string) =>
      Number((await send(method, path)).headers.get("x-ratelimit-remaining"));
    expect(await left("GET", "/v1/nowhere")).toBe(59);
    expect(await left("POST", "/v1/store/orders")).toBe(58);
    expect(await left("DELETE", "/v1/store/orders/99")).toBe(57);
    expect(await left("HEAD", "/v1/store/orders")).toBe(56);
    expect(await left("GET", "/v1/pets/1")).toBe(55);
  });

  test("a key that keeps sending requests after a 429 is banned, and no other key is", async () => {
    const { issued, send, time } = await createHandlerFixture();
    const other = { authorization: `Bearer ${(await issued()).key}` };
    for (let call = 0; call < 100; call++) await send("GET", "/v1/store/orders");
    time.now += BAN_GRACE_MS;
    for (let call = 0; call < 20; call++)
      expect(codeOf(await send("GET", "/v1/store/orders"))).toBe("rate_limit_exceeded");
    const banned = await send("GET", "/v1/store/orders");
    const facts = factsOf(banned, "retry-after", "x-ratelimit-remaining");
    expect(facts).toEqual([429, "api_key_banned", "900", "0"]);
    time.now += MINUTE_MS;
    expect((await send("GET", "/v1/store/orders")).status).toBe(429);
    expect((await send("GET", "/v1/store/orders", other)).status).toBe(200);
    time.now += 14 * MINUTE_MS;
    expect((await send("GET", "/v1/store/orders")).status).toBe(200);
  });
});

describe("rejections of a key over its limit", () => {
  async function callsFor(options: { cacheRejections?: boolean }): Promise<number> {
    const store = createMemoryStore();
    const admit = vi.spyOn(store.accounts, "admit");
    const { send } = await createHandlerFixture({ store, ...options });
    for (let request = 0; request < 160; request++) await send("GET", "/v1/store/orders");
    return admit.mock.calls.length;
  }

  test("query the store at most once a second, since the handler caches them by default", async () => {
    // 60 requests are admitted, and one rejection fills the cache.
    expect(await callsFor({})).toBe(61);
  });

  test("query the store each time if the cache is turned off", async () => {
    expect(await callsFor({ cacheRejections: false })).toBe(160);
  });
});

describe("a flood of forged keys from one address", () => {
  /** A service whose store counts `admit()`, and is said to be local or not. */
  async function createFlooded(isLocal: boolean) {
    const memory = createMemoryStore();
    const admit = vi.fn(memory.accounts.admit);
    const store = { ...memory, accounts: { ...memory.accounts, admit, isLocal } };
    const { send, key, issued, time } = await createHandlerFixture({ store, plan: "pro" });
    const list = (presented: string, address = "192.0.2.9") =>
      send("GET", "/v1/store/orders", { authorization: `Bearer ${presented}` }, { address });
    const flood = async (
      accountOf: (index: number) => string = (index) => `made-up-${index}`,
      count = 200,
    ) => {
      const before = admit.mock.calls.length;
      for (let index = 0; index < count; index++) await list(generateKey("test", accountOf(index)));
      return admit.mock.calls.length - before;
    };
    return { list, flood, key, issued, time };
  }

  test("is looked up in a local store, and a valid key of the address is admitted", async () => {
    const { list, flood, key } = await createFlooded(true);
    expect(await flood()).toBe(200);
    expect((await list(generateKey("test", "shop"))).headers.get("retry-after")).toBe("60");
    expect((await list(key)).status).toBe(200);
  });

  test("costs any other store 20 look-ups a second; a valid key that is not known waits a second, others do not", async () => {
    const { list, flood, key, issued, time } = await createFlooded(false);
    expect((await list(key, "192.0.2.10")).status).toBe(200);
    expect([await flood(), await flood(() => "shop")]).toEqual([20, 0]);
    expect((await list(key)).status).toBe(200);
    const unseen = (await issued()).key;
    const { status, headers, ...refused } = await list(unseen);
    expect([status, codeOf({ status, headers, ...refused })]).toEqual([429, "rate_limit_exceeded"]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "retry-after": "1",
      "x-ratelimit-limit": "60",
      "x-ratelimit-remaining": "60",
      "x-ratelimit-reset": `${time.now / 1000 + 60}`,
    });
    time.now += 1_000;
    await flood();
    expect((await list(unseen)).status).toBe(200);
  });

  test("does not affect another address, unless it is for one account: 100 look-ups a second", async () => {
    const { list, flood, issued } = await createFlooded(false);
    await flood();
    expect((await list((await issued()).key, "192.0.2.10")).status).toBe(200);
    let admitted = 0;
    const keys = await Promise.all(Array.from({ length: 9 }, issued));
    for (let index = 0; index < 108; index++) {
      const isValid = index >= 95 && index < 104;
      const { status } = await list(
        isValid ? (keys[index - 95]?.key ?? "") : generateKey("test", "shop"),
        `10.0.0.${index}`,
      );
      if (status === 200) admitted++;
      else expect(status).toBe(index < 99 ? 401 : 429);
    }
    expect(admitted).toBe(4);
  });

  test("that uses up the 60 requests of the address leaves 429 instead of 401 for what is invalid only", async () => {
    const { list, flood, issued, time } = await createFlooded(false);
    for (let second = 0; second < 4; second++, time.now += 1_000) await flood(undefined, 20);
    const invalid = await list(generateKey("test", "shop"));
    expect([invalid.status, invalid.headers.get("retry-after")]).toEqual([429, "56"]);
    expect((await list((await issued()).key)).status).toBe(200);
  });

  test("100 requests at once with one valid key that is not known are one look-up, and all are admitted", async () => {
    const { list, key } = await createFlooded(false);
    const sent = await Promise.all(Array.from({ length: 100 }, () => list(key)));
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
