import { expect, test } from "vitest";
import { revokeKey } from "../../lib/accounts/account.ts";
import { BAN_GRACE_MS } from "../../lib/accounts/admission.ts";
import { hashKey } from "../../lib/accounts/hash-key.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { createHandlerFixture } from "./fixture.ts";

const ORDERS = "/v1/store/orders";

test("what would be rejected is performed, reported and not counted; what is within the limit counts as always", async () => {
  const { send, events, store } = await createHandlerFixture({ enforce: false });
  for (let call = 0; call < 60; call++) await send("GET", ORDERS);
  expect(events.some(({ wouldReject }) => wouldReject !== undefined)).toBe(false);
  const cancelled = await send("DELETE", `${ORDERS}/1`);
  expect([cancelled.status, cancelled.headers.get("x-ratelimit-remaining")]).toEqual([204, "0"]);
  expect(cancelled.headers.get("retry-after")).toBeNull();
  for (let call = 0; call < 100; call++) expect((await send("GET", ORDERS)).status).toBe(200);
  expect(events.filter(({ wouldReject }) => wouldReject === "rate_limit_exceeded")).toHaveLength(101);
  const account = (await store.accounts.find("shop")) ?? expect.fail();
  expect([account.usage.minute.count, account.rejections]).toEqual([60, {}]);
});

test("a key that is banned is served and reported, and a rejection while reporting bans nobody afterwards", async () => {
  const store = (await createHandlerFixture()).store;
  const enforced = await createHandlerFixture({ store, banPolicy: { maxRejections: 1, durationMs: 60_000 } });
  for (let call = 0; call < 61; call++) await enforced.send("GET", ORDERS);
  enforced.time.now += BAN_GRACE_MS;
  for (let call = 0; call < 2; call++) await enforced.send("GET", ORDERS);
  expect((await enforced.send("GET", ORDERS)).status).toBe(429);
  const reporting = await createHandlerFixture({ store, enforce: false });
  expect((await reporting.send("GET", ORDERS, { authorization: `Bearer ${enforced.key}` })).status).toBe(200);
  expect(reporting.events).toMatchObject([{ status: 200, wouldReject: "api_key_banned" }]);
  for (let call = 0; call < 30; call++) await reporting.send("GET", ORDERS);
  const later = await createHandlerFixture({ store });
  const { status, text } = await later.send("GET", ORDERS, { authorization: `Bearer ${reporting.key}` });
  expect([status, JSON.parse(text).code]).toEqual([429, "rate_limit_exceeded"]);
});

test("a key that is not valid is still refused, and its flood limited", async () => {
  const { send, events } = await createHandlerFixture({ enforce: false });
  for (let call = 0; call < 61; call++) await send("GET", ORDERS, { authorization: "Bearer nobody" });
  expect(events.map(({ status }) => status)).toEqual([...new Array<number>(60).fill(401), 429]);
  expect(events.at(-1)).not.toHaveProperty("wouldReject");
});

test("the metrics count what would be rejected, by plan and reason", async () => {
  const metrics = createMetrics();
  const { send } = await createHandlerFixture({ enforce: false, onRequest: metrics.onRequest });
  for (let call = 0; call < 63; call++) await send("GET", ORDERS);
  const text = await metrics.registry.metrics();
  expect(text).toContain('store_orders_would_reject_total{plan="free",reason="rate_limit_exceeded"} 3');
  expect(text).toContain('store_orders_admissions_total{plan="free",outcome="admitted"} 63');
});

test("a key that was revoked or has expired, and a store that fails, are noticed at once", async () => {
  const { send, accounts, keyId, store, time } = await createHandlerFixture({ enforce: false });
  const expiring = await accounts.issueKey("shop", { expiresAt: time.now + 500 });
  const bearer = { authorization: `Bearer ${expiring.ok && expiring.key}` };
  for (let call = 0; call < 62; call++) await send("GET", ORDERS);
  expect((await send("GET", ORDERS, bearer)).status).toBe(200);
  time.now += 500;
  expect((await send("GET", ORDERS, bearer)).status).toBe(401);
  // Another process revokes the key.
  await store.accounts.update("shop", (account) => revokeKey(account, keyId, time.now));
  expect((await send("GET", ORDERS)).status).toBe(401);
});

test("a valid key of an address whose guesses are used up is served", async () => {
  const { send, accounts } = await createHandlerFixture({ enforce: false });
  await accounts.importKey("shop", { hash: hashKey("sk_live_1") });
  for (let call = 0; call < 70; call++) await send("GET", ORDERS, { authorization: `Bearer guess-${call}` });
  expect((await send("GET", ORDERS, { authorization: "Bearer sk_live_1" })).status).toBe(200);
});

test("requests beyond the limit do not wait for each other", async () => {
  const { store } = await createHandlerFixture();
  const { admit } = store.accounts;
  let [running, most] = [0, 0];
  const slow: typeof admit = async (...args) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running--;
    return admit(...args);
  };
  const slowStore = { ...store, accounts: { ...store.accounts, admit: slow } };
  const { send } = await createHandlerFixture({ store: slowStore, enforce: false });
  for (let call = 0; call < 4; call++)
    await Promise.all(Array.from({ length: 20 }, () => send("GET", ORDERS)));
  most = 0;
  const answers = await Promise.all(Array.from({ length: 20 }, () => send("GET", ORDERS)));
  expect([answers.every(({ status }) => status === 200), most]).toEqual([true, 20]);
});
