import { createServer } from "node:http";
import { expect, test } from "vitest";
import { createAccounts, type IssuedKey } from "../../lib/accounts/accounts.ts";
import { BAN_GRACE_MS } from "../../lib/accounts/admission.ts";
import { hashKey } from "../../lib/accounts/hash-key.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createGate, type GateOptions } from "../../lib/http/gate.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { listenOn } from "../support/free-port.ts";

const NOON = Date.UTC(2026, 10, 20, 12);

async function open(options: Omit<Partial<GateOptions>, "store"> = {}) {
  const store = createMemoryStore();
  const time = { now: NOON };
  const clock = () => time.now;
  const plans = { tiny: { perMinute: 2, perDay: 10 } };
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock, plans });
  await accounts.create("shop", { plan: "tiny" });
  const { key, keyId } = (await accounts.issueKey("shop")) as IssuedKey;
  const settings = { store, clock, plans, banPolicy: { maxRejections: 3, durationMs: 60_000 }, ...options };
  const headers = new Headers({ authorization: `Bearer ${key}` });
  return {
    accounts,
    gate: createGate(settings),
    handler: createHandler(settings),
    headers,
    keyId,
    store,
    time,
  };
}

test("admits, limits and bans like the handler, with which it shares the counters", async () => {
  const { gate, handler, headers, keyId, time } = await open();
  const request = new Request("http://localhost/v1/store/orders", { headers });
  expect(await gate(request)).toMatchObject({
    ok: true,
    caller: { accountId: "shop", keyId, plan: "tiny" },
    headers: { "x-ratelimit-limit": "2", "x-ratelimit-remaining": "1", "x-request-id": expect.any(String) },
  });
  expect((await handler(request)).headers.get("x-ratelimit-remaining")).toBe("0");
  const statuses: unknown[] = [];
  expect((await handler(request)).status).toBe(429);
  time.now += BAN_GRACE_MS;
  for (let call = 0; call < 5; call++) {
    const access = await gate(request);
    if (access.ok) expect.fail("it is beyond the limit");
    statuses.push([access.response.status, JSON.parse(access.response.body).code]);
    expect(access.response.headers).toMatchObject({
      "retry-after": call < 3 ? "50" : "60",
      "x-ratelimit-remaining": "0",
      "content-type": "application/json",
    });
  }
  const limited = [429, "rate_limit_exceeded"];
  expect(statuses).toEqual([limited, limited, limited, [429, "api_key_banned"], [429, "api_key_banned"]]);
  expect((await handler(request)).status).toBe(429);
});

test("reads the headers of Node's requests, and keys of another system", async () => {
  const { gate, accounts } = await open({ keys: { headers: ["x-api-key"] } });
  await accounts.importKey("shop", { hash: hashKey("sk_live_1") });
  const server = createServer(async (request, response) => {
    const access = await gate(request, { address: request.socket.remoteAddress });
    if (access.ok) response.writeHead(204, access.headers).end();
    else response.writeHead(access.response.status, access.response.headers).end(access.response.body);
  });
  const url = `http://127.0.0.1:${await listenOn(server)}`;
  const admitted = await fetch(url, { headers: { "X-API-Key": "sk_live_1" } });
  expect([admitted.status, admitted.headers.get("x-ratelimit-remaining")]).toEqual([204, "1"]);
  const refused = await fetch(url, { headers: { "X-API-Key": "sk_live_2" } });
  expect([refused.status, await refused.json()]).toMatchObject([401, { code: "invalid_api_key" }]);
  expect(refused.headers.get("www-authenticate")).toContain("Bearer");
  server.close();
});

test("callers without a key share the limits of their address", async () => {
  const { gate } = await open();
  const statuses = new Set<unknown>();
  for (let call = 0; call < 60; call++) await gate({ headers: {} }, { address: "192.0.2.1" });
  for (const address of ["192.0.2.1", "192.0.2.2"]) statuses.add(await gate({ headers: {} }, { address }));
  // Such as of Bun's `requestIP()`, which none has: they are callers without an address.
  for (const wrong of [null, { address: null }, { address: { address: "192.0.2.1" } }] as unknown as [object])
    statuses.add(await gate({ headers: {} }, wrong));
  expect([...statuses]).toMatchObject([429, 401, 401, 401, 401].map((status) => ({ response: { status } })));
});

test("a store that fails is a 503 with the error beside it, and one that is wrong a 500", async () => {
  for (const [error, status] of [
    [new StoreUnavailableError("down"), 503],
    [new TypeError("wrong"), 500],
  ] as const) {
    const { headers, store } = await open();
    const broken = { ...store.accounts, admit: async () => Promise.reject(error) };
    const access = await createGate({ store: { accounts: broken } })({ headers });
    expect(access).toMatchObject({ ok: false, error, response: { status } });
  }
});

test.each([
  [{ keys: { headers: ["Cookie"] } }, "keys.headers[0]"],
  [{ banPolicy: { maxRejections: -1, durationMs: 1 } }, "banPolicy.maxRejections"],
])("%j is an error at the start", async (options, message) => {
  await expect(open(options)).rejects.toThrow(message);
});

test.each([
  [{ enforced: false }, "enforced: There is no option of this name. Did you mean 'enforce'?"],
  [{ corsOrigins: [] }, "corsOrigins: There is no option of this name."],
])("the untyped option %j is an error at the start", (options, message) => {
  const { accounts } = createMemoryStore();
  expect(() => createGate({ store: { accounts }, ...options } as GateOptions)).toThrow(message);
});

test.each([
  [undefined],
  [null],
  [{}],
  [{ headers: null }],
  [{ headers: Object.create(null) }],
  [{ headers: 5 }],
])("never rejects, whatever the request is: %j", async (request) => {
  const { gate } = await open({ keys: { headers: ["constructor", "x-api-key"] } });
  const access = await gate(request as never, null as never);
  expect(access.ok === false && [401, 500]).toContain(access.ok === false && access.response.status);
});

test("a header is one of the request, not of its prototype, and an empty bearer key is none", async () => {
  const { gate, accounts } = await open({ keys: { headers: ["constructor", "x-api-key"] } });
  await accounts.importKey("shop", { hash: hashKey("sk_live_1") });
  expect(await gate({ headers: { authorization: "Bearer  ", "x-api-key": "sk_live_1" } })).toMatchObject({
    ok: true,
  });
});
