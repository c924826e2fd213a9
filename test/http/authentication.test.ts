import { describe, expect, test, vi } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, NOON } from "./fixture.ts";

describe("authentication", () => {
  test.each([
    ["no header", {}, "missing_api_key"],
    ["another scheme", { authorization: "Basic abc" }, "missing_api_key"],
    ["a scheme that only ends like it", { authorization: "xBearer abc" }, "missing_api_key"],
    ["no key behind the scheme", { authorization: "Bearer" }, "missing_api_key"],
    ["something that is no key", { authorization: "Bearer abc" }, "invalid_api_key"],
    [
      "a key with a wrong checksum",
      { authorization: `Bearer so_test_shop_${"0".repeat(38)}` },
      "invalid_api_key",
    ],
  ])("%s is rejected with 401 and a challenge", async (_name, headers, code) => {
    const { handler } = await createHandlerFixture();
    for (const [method, path] of [
      ["GET", "/v1/store/orders"],
      ["DELETE", "/v1/store/orders/1"],
      ["GET", "/nowhere"],
    ]) {
      const response = await handler(
        new Request(`http://localhost${path}`, { method: method ?? "", headers }),
      );
      const answer = { status: response.status, headers: response.headers, text: await response.text() };
      expect([answer.status, codeOf(answer)]).toEqual([401, code]);
      expect(answer.headers.get("www-authenticate")).toBe(
        `Bearer realm="store-orders"${code === "invalid_api_key" ? ', error="invalid_token"' : ""}`,
      );
    }
  });

  test.each(["bearer", "BEARER", "bEaReR ", "Bearer \t"])(
    "the scheme is case-insensitive: %j",
    async (scheme) => {
      const { send, key } = await createHandlerFixture();
      expect((await send("GET", "/v1/store/orders", { authorization: `${scheme} ${key}` })).status).toBe(200);
    },
  );

  test("a request with two Authorization headers is rejected", async () => {
    const { handler, key } = await createHandlerFixture();
    const headers = new Headers([
      ["authorization", `Bearer ${key}`],
      ["authorization", `Bearer ${key}`],
    ]);
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
    expect([refused.status, codeOf(refused), refused.headers.get("retry-after")]).toEqual([
      429,
      "rate_limit_exceeded",
      "60",
    ]);
    expect((await send("GET", "/v1/store/orders", guess, { address: "192.0.2.9" })).status).toBe(401);
    expect((await send("GET", "/v1/store/orders", { authorization: `Bearer ${key}` })).status).toBe(200);
    time.now += MINUTE_MS;
    expect((await send("GET", "/v1/store/orders", guess)).status).toBe(401);
  });
});

describe("limits", () => {
  test("requests are admitted up to the limit, then rejected with 429 and Retry-After until the minute ends", async () => {
    const { send, time } = await createHandlerFixture();
    time.now = NOON + 59_001;
    for (let call = 1; call <= 60; call++) {
      const { status, headers } = await send("GET", "/v1/store/orders");
      expect([status, headers.get("x-ratelimit-remaining")]).toEqual([200, `${60 - call}`]);
    }
    const refused = await send("GET", "/v1/store/orders");
    expect([refused.status, codeOf(refused)]).toEqual([429, "rate_limit_exceeded"]);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.headers.get("x-ratelimit-reset")).toBe(`${NOON / 1000 + 60}`);
    time.now = NOON + MINUTE_MS;
    expect((await send("GET", "/v1/store/orders")).status).toBe(200);
  });

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
    for (let call = 0; call < 80; call++) await send("GET", "/v1/store/orders");
    const banned = await send("GET", "/v1/store/orders");
    expect([banned.status, codeOf(banned)]).toEqual([429, "api_key_banned"]);
    expect([banned.headers.get("retry-after"), banned.headers.get("x-ratelimit-remaining")]).toEqual([
      "900",
      "0",
    ]);
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
    // 60 requests are admitted, one rejection fills the cache, every fifth one is decided, and the last starts the ban.
    expect(await callsFor({})).toBe(65);
  });

  test("query the store each time if the cache is turned off", async () => {
    expect(await callsFor({ cacheRejections: false })).toBe(160);
  });
});

/** A memory store that counts the calls of `admit()`, and of `find()` if it may not list accounts. */
function countedStore(mayList: boolean) {
  const memory = createMemoryStore();
  const { admit, find } = memory.accounts;
  const counted = { calls: 0 };
  const count =
    <Args extends unknown[], R>(call: (...args: Args) => R) =>
    (...args: Args) => {
      counted.calls++;
      return call(...args);
    };
  const unlisted: Partial<AccountStore> = {
    find: count(find),
    list: () => {
      throw new Error("This process may not list accounts.");
    },
  };
  const accounts = { ...memory.accounts, admit: count(admit), ...(mayList ? {} : unlisted) };
  return { counted, store: { ...memory, accounts } };
}

test("once an address has used up its quota, keys that it makes up cost no call of admit, and a valid key is admitted", async () => {
  const { counted, store } = countedStore(true);
  const { send, key } = await createHandlerFixture({ store });
  const guess = async (index: number, address: string) => {
    const authorization = `Bearer ${generateKey("test", `made-up-${index}`)}`;
    return (await send("GET", "/v1/store/orders", { authorization }, { address })).status;
  };
  const statuses = [];
  for (let index = 0; index < 1_200; index++) statuses.push(await guess(index, "192.0.2.9"));
  expect(statuses.filter((status) => status === 401)).toHaveLength(60);
  expect(counted.calls).toBeLessThanOrEqual(61);
  counted.calls = 0;
  const valid = await send(
    "GET",
    "/v1/store/orders",
    { authorization: `Bearer ${key}` },
    { address: "192.0.2.9" },
  );
  expect([valid.status, counted.calls]).toEqual([200, 1]);
  expect(await guess(1, "192.0.2.10")).toBe(401);
  expect(counted.calls).toBe(2);
});

test("where accounts cannot be listed, keys that an address makes up cost one call in five seconds, and a valid key is admitted", async () => {
  const { counted, store } = countedStore(false);
  const { send, key, accounts: operations, time } = await createHandlerFixture({ plan: "pro", store });
  await operations.create("new-shop", { plan: "free" });
  const issued = await operations.issueKey("new-shop");
  const list = async (presented: string, address = "192.0.2.9") =>
    (await send("GET", "/v1/store/orders", { authorization: `Bearer ${presented}` }, { address })).status;
  const guess = async (count: number) => {
    counted.calls = 0;
    for (let index = 0; index < count; index++)
      await list(generateKey("test", `made-up-${time.now}-${index}`));
    return counted.calls;
  };

  expect(await list(key, "192.0.2.10")).toBe(200);
  expect(await guess(1_200)).toBe(61);
  expect(await list(key), "a key whose account this process knows").toBe(200);
  const unseen = issued.ok ? issued.key : "";
  expect(await list(unseen), "one that it does not know, during the flood").toBe(429);
  expect(await list(unseen, "192.0.2.10"), "elsewhere").toBe(200);
  time.now += 5_000;
  expect(await guess(1_000)).toBe(1);
  expect(await list(unseen)).toBe(200);
});
