import { afterEach, describe, expect, test, vi } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { hashKey } from "../../lib/accounts/hash-key.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createHandler } from "../../lib/http/handler.ts";
import type { Handler, HandlerOptions, KeySource } from "../../lib/http/options.ts";
import { accessFields, toLogLine } from "../../lib/http/request-event.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, NOON } from "./fixture.ts";

afterEach(() => void vi.useRealTimers());

const KEY = "sk_live_11c9xkqTz0";
const ORDERS = "/v1/store/orders";
/** Replaces the key of the fixture. */
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** A store that is not local, and counts the calls which a key causes. */
function countingStore() {
  const store = createMemoryStore();
  const calls: string[] = [];
  const counted = <T extends object>(methods: T): T =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        typeof method !== "function"
          ? method && counted(method)
          : (...args: unknown[]) => {
              calls.push(name);
              return method(...args);
            },
      ]),
    ) as T;
  const accounts = { ...counted<AccountStore>(store.accounts), isLocal: false };
  return { store: { ...store, accounts }, calls };
}

async function open(options: Partial<HandlerOptions> = {}, imported = true) {
  const { store, calls } = countingStore();
  const fixture = await createHandlerFixture({ ...options, store });
  if (imported) await fixture.accounts.importKey("shop", { hash: hashKey(KEY), name: "checkout" });
  calls.length = 0;
  return { ...fixture, calls };
}

describe("a key of another system", () => {
  test("is admitted once it is imported, with its own name in the event, and counts like any other", async () => {
    const { send, events } = await open();
    const { status, headers } = await send("GET", ORDERS, bearer(KEY));
    expect([status, headers.get("x-ratelimit-remaining")]).toEqual([200, "59"]);
    expect(events).toMatchObject([{ accountId: "shop", plan: "free" }]);
    expect((await send("GET", ORDERS)).headers.get("x-ratelimit-remaining")).toBe("58");
  });

  test.each<[string, Record<string, string>, number | string]>([
    ["in the first header", { "x-api-key": KEY }, 200],
    ["in the second header", { api_key: KEY }, 200],
    ["in both, of which the first counts", { "x-api-key": "wrong", api_key: KEY }, "invalid_api_key"],
    ["beside an empty header", { "x-api-key": "", api_key: KEY }, 200],
    ["beside credentials for a proxy", { authorization: "Basic abc", "x-api-key": KEY }, 200],
    ["beside a bearer key, which counts", { ...bearer("wrong"), "x-api-key": KEY }, "invalid_api_key"],
    ["in Authorization without a scheme, if that is configured", { authorization: KEY }, 200],
    ["in a header that is not configured", { "x-other": KEY }, "missing_api_key"],
  ])("is read %s", async (_name, headers, expected) => {
    const { handler } = await open({ keys: { headers: ["x-api-key", "api_key", "authorization"] } });
    const response = await handler(new Request(`http://localhost${ORDERS}`, { headers }));
    const answer = { status: response.status, headers: response.headers, text: await response.text() };
    expect(expected === 200 ? answer.status : codeOf(answer)).toBe(expected);
  });

  test("costs one read more than one of ours, and none once its account is known", async () => {
    const { send, key, calls } = await open();
    for (const [presented, expected] of [
      [key, ["admit"]],
      [KEY, ["exist", "findAccount", "admit"]],
      [KEY, ["admit"]],
    ] as const) {
      await send("GET", ORDERS, bearer(presented));
      expect(calls.splice(0)).toEqual(expected);
    }
  });

  test("is not looked up while none was imported, except once in five seconds", async () => {
    const { send, calls, time, accounts } = await open({}, false);
    for (const [seconds, expected] of [
      [0, ["exist"]],
      [0, []],
      [4.9, []],
      [5, ["exist"]],
    ] as const) {
      time.now = NOON + seconds * 1000;
      expect(codeOf(await send("GET", ORDERS, bearer(KEY)))).toBe("invalid_api_key");
      expect(calls.splice(0)).toEqual(expected);
    }
    await accounts.importKey("shop", { hash: hashKey(KEY) });
    time.now += 5_000;
    expect((await send("GET", ORDERS, bearer(KEY))).status).toBe(200);
  });

  test("that is revoked is a guess", async () => {
    const { send, calls, accounts, store } = await open();
    expect((await send("GET", ORDERS, bearer(KEY))).status).toBe(200);
    const { keys = [] } = (await store.accounts.find("shop")) ?? {};
    await accounts.revokeKey(keys.find(({ name }) => name === "checkout")?.id ?? "");
    calls.length = 0;
    for (let request = 0; request < 100; request++) await send("GET", ORDERS, bearer(KEY));
    expect(calls.filter((name) => name === "admit")).toHaveLength(20);
  });

  test("with the beginning of ours is mistyped, and costs no call", async () => {
    const { send, key, calls } = await open();
    expect(codeOf(await send("GET", ORDERS, bearer(`${key.slice(0, -1)}!`)))).toBe("invalid_api_key");
    expect(calls).toEqual([]);
  });

  test("moves to another account when its own is deleted", async () => {
    const { send, accounts, events } = await open();
    await send("GET", ORDERS, bearer(KEY));
    await accounts.delete("shop");
    await accounts.create("other", { plan: "pro" });
    await accounts.importKey("other", { hash: hashKey(KEY) });
    // The first request of a process that knew the old account is refused, and makes it look again.
    await send("GET", ORDERS, bearer(KEY));
    expect((await send("GET", ORDERS, bearer(KEY))).status).toBe(200);
    expect(events.at(-1)).toMatchObject({ accountId: "other", plan: "pro" });
  });
});

describe("a burst of valid keys that the process has not seen", () => {
  const COUNT = 100;
  const answer = async (handler: Handler, presented: readonly string[]) => {
    const send = (key: string) =>
      handler(new Request(`http://localhost${ORDERS}`, { headers: bearer(key) }), { address: "192.0.2.1" });
    const responses = await Promise.all(presented.map(send));
    return responses.map(({ status }) => status);
  };
  const addKeys = async ({ accounts }: Awaited<ReturnType<typeof open>>, prefix: string) => {
    const keys: { own: string; imported: string }[] = [];
    for (let index = 0; index < COUNT; index++) {
      const id = `${prefix}-${index}`;
      await accounts.create(id, { plan: "free" });
      const issued = await accounts.issueKey(id);
      await accounts.importKey(id, { hash: hashKey(`sk_${id}`) });
      keys.push({ own: issued.ok ? issued.key : expect.fail(), imported: `sk_${id}` });
    }
    return keys;
  };

  test.each(["own", "imported"] as const)("of %s keys is read 20 a second, if not local", async (kind) => {
    const opened = await open();
    const presented = (await addKeys(opened, "shop")).map((each) => each[kind]);
    const local = createHandler({
      store: { ...opened.store, accounts: { ...opened.store.accounts, isLocal: true } },
      clock: () => opened.time.now,
    });
    expect(await answer(local, presented)).toEqual(Array(COUNT).fill(200));
    for (let second = 1; second <= COUNT / 20; second++, opened.time.now += 1_000) {
      const statuses = await answer(opened.handler, presented);
      expect(statuses.filter((status) => status === 200)).toHaveLength(20 * second);
      expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
    }
  });

  test("is limited on a local store, too, if another database imports them at their first use", async () => {
    const { accounts, store, time } = await open();
    const accountOf: KeySource["accountOf"] = async (hash, key) => {
      await accounts.importKey(key, { hash });
      return key;
    };
    const local = { ...store, accounts: { ...store.accounts, isLocal: true } };
    const handler = createHandler({ store: local, keys: { accountOf }, clock: () => time.now });
    for (let index = 0; index < COUNT; index++) await accounts.create(`k${index}`, { plan: "free" });
    const statuses = await answer(
      handler,
      Array.from({ length: COUNT }, (_, index) => `k${index}`),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  });
});

describe("keys.accountOf", () => {
  const openWith = async (accountOf: NonNullable<KeySource["accountOf"]>) => open({ keys: { accountOf } });

  test("is called for each request with a key of another form, and decides whose it is; the store still admits", async () => {
    const seen: string[][] = [];
    const { send, calls, accounts, store } = await openWith(async (...args) => {
      seen.push(args);
      return args[1] === KEY ? "shop" : undefined;
    });
    expect((await send("GET", ORDERS, bearer(KEY))).status).toBe(200);
    expect((await send("GET", ORDERS, bearer(KEY))).status).toBe(200);
    expect(seen).toEqual(Array(2).fill([hashKey(KEY), KEY]));
    expect(codeOf(await send("GET", ORDERS, bearer("made-up")))).toBe("invalid_api_key");
    expect(calls).toEqual(["admit", "admit"]);
    const { keys = [] } = (await store.accounts.find("shop")) ?? {};
    await accounts.revokeKey(keys.find(({ name }) => name === "checkout")?.id ?? "");
    expect((await send("GET", ORDERS, bearer(KEY))).status).toBe(401);
  });

  test.each<[string, () => unknown]>([
    ["throws with the key in its message", () => expect.fail(`no such key: ${KEY}`)],
    ["returns no identifier", () => "Shop 7"],
  ])("that %s is a 500, whose log line has no key", async (_name, accountOf) => {
    const { send, events } = await openWith(accountOf as () => string);
    const answer = await send("GET", ORDERS, bearer(KEY));
    expect(codeOf(answer)).toBe("internal_error");
    const line = toLogLine(accessFields(events[0] ?? expect.fail(), new Date(NOON)));
    expect(line).toContain("accountOf()");
    expect(line + answer.text).not.toContain(KEY);
  });
});

test("the document, its description and preflights know the headers", async () => {
  const origin = "https://shop.example.com";
  const { handler } = await open({ keys: { headers: ["x-api-key"] }, corsOrigins: [origin] });
  const document = await (await handler(new Request("http://localhost/openapi.json"))).json();
  expect(document).toMatchObject({
    security: [{ apiKey: [] }, { "x-api-key": [] }],
    components: { securitySchemes: { "x-api-key": { type: "apiKey", in: "header", name: "x-api-key" } } },
    info: { description: expect.stringContaining("`x-api-key`") },
  });
  const headers = { origin, "access-control-request-method": "DELETE" };
  const preflight = await handler(new Request(`http://localhost${ORDERS}/1`, { method: "OPTIONS", headers }));
  expect(preflight.headers.get("access-control-allow-headers")).toContain("x-api-key");
});

test.each([
  [{ headers: ["X-API-Key"] }, "keys.headers[0]: Give a header name in lower case"],
  [{ headers: ["x-api-key", "x api key"] }, "keys.headers[1]: Give a header name"],
  [{ header: ["x-api-key"] }, "keys.header: There is no option of this name"],
])("%j is an error at the start", async (keys, message) => {
  await expect(open({ keys: keys as unknown as KeySource })).rejects.toThrow(message);
});

test.each([
  ["", "hash: Give the SHA-256"],
  ["A".repeat(64), "hash: Give the SHA-256"],
  [KEY, "hash: Give the SHA-256"],
])("the hash %j is rejected, and its value is not repeated", async (hash, message) => {
  const { accounts } = await open();
  const imported = accounts.importKey("shop", { hash: hash as string });
  await expect(imported).rejects.toThrow(message);
  await expect(imported).rejects.not.toThrow(KEY);
});

describe("what an attack found", () => {
  test("a store that is asked for the first time is asked once for all requests that wait", async () => {
    const { send, calls } = await open({}, false);
    const guesses = Array.from({ length: 50 }, (_, guess) => send("GET", ORDERS, bearer(`guess-${guess}`)));
    await Promise.all(guesses);
    expect(calls).toEqual(["exist"]);
  });

  test("accountOf has a time limit", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const called = Promise.withResolvers<void>();
    const accountOf: KeySource["accountOf"] = () => {
      called.resolve();
      return new Promise(() => {});
    };
    const { send } = await open({ keys: { accountOf } });
    const answer = send("GET", ORDERS, bearer(KEY));
    // The hash of the key takes as long as the machine needs.
    await called.promise;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(codeOf(await answer)).toBe("store_unavailable");
  });

  test("an error of accountOf is logged without the key, also one that says that its store is down", async () => {
    const { send, events } = await open({
      keys: { accountOf: () => Promise.reject(new StoreUnavailableError(`query ${KEY} failed`)) },
    });
    expect(codeOf(await send("GET", ORDERS, bearer(KEY)))).toBe("store_unavailable");
    expect(toLogLine(accessFields(events[0] ?? expect.fail(), new Date(NOON)))).not.toContain(KEY);
  });

  test("an import neither fixes nor needs the environment of the store's keys", async () => {
    const { store } = await open();
    const accounts = createAccounts({ store: store.accounts, environment: "live" });
    expect(await accounts.importKey("shop", { hash: hashKey("x") })).toMatchObject({ ok: true });
  });

  test("an import of which the record was replaced meanwhile leaves no key behind", async () => {
    const store = createMemoryStore();
    const { importedKeys = expect.fail() } = store.accounts;
    const accounts = createAccounts({
      // As a store without transactions, when another process imports the key at the same time.
      store: { ...store.accounts, importedKeys: { ...importedKeys, findAccount: async () => "second" } },
      environment: "test",
    });
    await accounts.create("first", { plan: "free" });
    await expect(accounts.importKey("first", { hash: hashKey(KEY) })).rejects.toThrow("Another account has");
    expect((await store.accounts.find("first"))?.keys).toEqual([]);
  });
});
