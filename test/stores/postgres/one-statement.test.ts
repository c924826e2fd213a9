import { beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { type AdmissionPolicy, DEFAULT_BAN_POLICY } from "../../../lib/accounts/admission.ts";
import { PLAN_LIMITS, type PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createPostgresStore, type PostgresPool } from "../../../lib/stores/postgres/index.ts";
import { parseKey } from "../../support/parse-key.ts";
import { answeredBy, type Pglite, startPglite } from "./pglite.ts";

const AT = Date.UTC(2026, 10, 20, 12);

let server: Pglite;
const sent: string[] = [];

beforeAll(async () => {
  server = await startPglite();
});
// Time passes only where a case says so, also in PGlite.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
});

const observed = (pool: PostgresPool) =>
  answeredBy(pool, (statement, run) => {
    sent.push(/^\s*\w+/.exec(statement.text)?.[0] ?? "");
    return run(statement);
  });

const PLANS: readonly PlanAssignment[] = [
  { plan: "free" },
  { plan: "pro" },
  { plan: "enterprise", customLimits: { perMinute: 5, perDay: 5 } },
];

test("after the first cancel of a minute, each takes one statement, whatever the plan; the last one too", async () => {
  const store = createPostgresStore({ pool: observed(server.pool), schema: "plans" });
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => AT });
  await store.orders.place(
    Array.from({ length: 20 }, (_, id) => ({ record: { id: BigInt(id) }, status: "pending" })),
  );
  let id = 0n;
  for (const [index, plan] of PLANS.entries()) {
    await accounts.create(`shop-${index}`, plan);
    const { key } = (await accounts.issueKey(`shop-${index}`)) as IssuedKey;
    const cancel = () =>
      store.accounts.admit(parseKey(key) ?? expect.fail(), AT, undefined, {
        type: "apply",
        id: id++,
        event: "cancel",
      });
    await cancel();
    sent.length = 0;
    for (let request = 2; request <= 5; request++)
      expect(await cancel()).toMatchObject({ ok: true, outcome: { result: { ok: true } } });
    expect(sent, plan.plan).toEqual(Array(4).fill(["BEGIN", "WITH", "COMMIT"]).flat());
    if (plan.customLimits !== undefined) expect(await cancel()).toMatchObject({ ok: false });
  }
  await store.close();
});

test("the cancels of several accounts in one turn of the event loop share a statement and a commit", async () => {
  const store = createPostgresStore({ pool: observed(server.pool), schema: "shared" });
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => AT });
  const ids = Array.from({ length: 6 }, (_, id) => BigInt(id));
  await store.orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));
  const keys = await Promise.all(
    ["one", "two"].map(async (account) => {
      await accounts.create(account, { plan: "free" });
      const issued = (await accounts.issueKey(account)) as IssuedKey;
      return parseKey(issued.key) ?? expect.fail();
    }),
  );
  const cancel = (id: bigint) =>
    store.accounts.admit(keys[Number(id % 2n)] ?? expect.fail(), AT, undefined, {
      type: "apply",
      id,
      event: "cancel",
    });
  for (const id of ids.slice(0, 2)) await cancel(id);
  sent.length = 0;
  const admissions = await Promise.all(ids.slice(2).map(cancel));
  expect(admissions.map((admission) => admission.ok && admission.quota.remaining)).toEqual([58, 58, 57, 57]);
  expect(sent).toEqual(["BEGIN", "WITH", "COMMIT"]);
  await store.close();
});

test("requests of an account are admitted in their order, and those of another account do not wait for them", async () => {
  const slow = Promise.withResolvers<void>();
  let connections = 0;
  const pool: PostgresPool = {
    async connect() {
      if (connections++ > 0) return server.pool.connect();
      let connection: Awaited<ReturnType<PostgresPool["connect"]>> | undefined;
      return {
        async query(statement) {
          await slow.promise;
          connection ??= await server.pool.connect();
          return connection.query(statement);
        },
        release: (...args) => connection?.release(...args),
      };
    },
  };
  const settings = { pool: server.pool, schema: "in_order" };
  const { accounts } = createPostgresStore(settings);
  const hashOf = (id: string) => id.padEnd(64, "0");
  for (const id of ["slow", "fast"])
    await accounts.create({ id, plan: "free", keys: [{ id: `${id}.1`, hash: hashOf(id), createdAt: 0 }] });
  const store = createPostgresStore({ ...settings, pool });
  const remaining = async (accountId: string) => {
    const admission = await store.accounts.admit({ accountId, hash: hashOf(accountId) }, AT);
    return admission.ok && admission.quota.remaining;
  };
  const first = remaining("slow");
  await expect.poll(() => connections).toBe(1);
  const second = remaining("slow");
  expect(await remaining("fast")).toBe(59);
  slow.resolve();
  expect(await Promise.all([first, second])).toEqual([59, 58]);
  await store.close();
});

test("cancels of one turn with two keys, or under two tables of plans, are each decided and recorded for their own", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "two_keys" });
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => AT });
  const ids = Array.from({ length: 8 }, (_, id) => BigInt(id));
  await store.orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));
  await accounts.create("shop", { plan: "free" });
  const issued = [await accounts.issueKey("shop"), await accounts.issueKey("shop")] as IssuedKey[];
  const keys = issued.map(({ key }) => parseKey(key) ?? expect.fail());
  const cancel = (id: bigint, key = 0, policy?: AdmissionPolicy) =>
    store.accounts.admit(keys[key] ?? expect.fail(), AT, policy, {
      type: "apply",
      id,
      event: "cancel",
      // The character that stands for the key in what is sent.
      requestId: "a~b",
    });
  for (const [index] of keys.entries()) await cancel(ids[index] ?? 0n, index);

  const ofKeys = await Promise.all([cancel(2n, 0), cancel(3n, 1), cancel(4n, 1)]);
  for (const admission of ofKeys)
    expect(admission).toMatchObject({ ok: true, outcome: { result: { ok: true } } });
  const last = async (id: bigint) => (await store.orders.find(id))?.history.at(-1);
  expect(await Promise.all([2n, 3n, 4n].map(last))).toMatchObject(
    [0, 1, 1].map((key) => ({ by: issued[key]?.keyId, requestId: "a~b" })),
  );

  const plans = { ...PLAN_LIMITS, free: { perMinute: 5, perDay: 5 } };
  const ofPlans = await Promise.all([
    cancel(5n),
    cancel(6n, 0, { ...DEFAULT_BAN_POLICY, plans }),
    cancel(7n),
  ]);
  expect(ofPlans.map((admission) => admission.ok)).toEqual([true, false, true]);
  expect(await store.orders.find(6n)).toMatchObject({ status: "pending" });
  expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(7);
  await store.close();
});

test("cancels of one turn before and after the end of a ban, or of a key, are each decided for their own instant", async () => {
  const { accounts, orders, close } = createPostgresStore({ pool: server.pool, schema: "bounds" });
  onTestFinished(close);
  const ids = [1n, 2n, 3n, 4n];
  await orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));
  const key = { id: "shop.1", hash: "1".repeat(64), createdAt: AT, expiresAt: AT + 20 };
  await accounts.create({ id: "shop", plan: "free", keys: [key] });
  const presented = { accountId: "shop", hash: key.hash };
  const cancel = (id: bigint, at: number) =>
    accounts.admit(presented, at, undefined, { type: "apply", id, event: "cancel" });
  await accounts.admit(presented, AT);
  await accounts.recordRejections(presented, 1, AT, { maxRejections: 0, durationMs: 10 });
  const ofBan = await Promise.all([cancel(1n, AT + 9), cancel(2n, AT + 10)]);
  const ofKey = await Promise.all([cancel(3n, AT + 19), cancel(4n, AT + 20)]);
  expect([...ofBan, ...ofKey].map(({ ok }) => ok)).toEqual([false, true, true, false]);
  const statuses = await Promise.all(ids.map(async (id) => (await orders.find(id))?.status));
  expect(statuses).toEqual(["pending", "cancelled", "cancelled", "pending"]);
});

test("two events of an order in one turn of the event loop are both in its history", async () => {
  const { accounts, orders, close } = createPostgresStore({ pool: server.pool, schema: "events" });
  onTestFinished(close);
  await orders.place([{ record: { id: 1n }, status: "pending" }], AT);
  const key = { id: "shop.1", hash: "1".repeat(64), createdAt: AT };
  await accounts.create({ id: "shop", plan: "free", keys: [key] });
  const apply = (event: "ship" | "fulfil", at: number) =>
    accounts.admit({ accountId: "shop", hash: key.hash }, at, undefined, { type: "apply", id: 1n, event });
  await Promise.all([apply("ship", AT + 1), apply("fulfil", AT + 2)]);
  expect(await orders.find(1n)).toMatchObject({
    record: { id: 1n, shipDate: new Date(AT + 1).toISOString(), complete: true },
    status: "shipped",
    history: [
      { event: "place", at: AT },
      { event: "ship", at: AT + 1, by: key.id },
      { event: "fulfil", at: AT + 2, by: key.id },
    ],
  });
});

test("of hundreds of cancels of an order at one instant, one succeeds", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "instant" });
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => AT });
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  await accounts.create("shop", {
    plan: "enterprise",
    customLimits: { perMinute: 60_000, perDay: 60_000 },
  });
  const key = parseKey(((await accounts.issueKey("shop")) as IssuedKey).key) ?? expect.fail();
  const cancel = () => store.accounts.admit(key, AT, undefined, { type: "apply", id: 1n, event: "cancel" });
  await store.accounts.admit(key, AT);
  const admissions = await Promise.all(Array.from({ length: 500 }, cancel));
  const succeeded = admissions.flatMap((admission, index) =>
    admission.ok && admission.outcome?.type === "apply" && admission.outcome.result.ok ? [index] : [],
  );
  expect(succeeded).toEqual([0]);
  expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(501);
  await store.close();
});

test("a list has its first page from the transaction that admits it", async () => {
  const store = createPostgresStore({ pool: observed(server.pool), schema: "lists" });
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => AT });
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  await accounts.create("shop", { plan: "free" });
  const key = parseKey(((await accounts.issueKey("shop")) as IssuedKey).key) ?? expect.fail();
  sent.length = 0;
  const [admission, counted] = await Promise.all([
    store.accounts.admit(key, AT, undefined, { type: "list" }),
    store.accounts.admit(key, AT),
  ]);
  const { outcome } = (admission.ok && admission) || expect.fail();
  expect(outcome).toMatchObject({ type: "list", first: { json: '{"id":1}', last: true } });
  expect(outcome?.type === "list" && (await collect(outcome.rest))).toEqual([]);
  expect(counted).toMatchObject({ ok: true, quota: { remaining: 58 } });
  expect(counted).not.toHaveProperty("outcome");
  expect(sent).toEqual(["BEGIN", "WITH", "UPDATE", "UPDATE", "SELECT", "COMMIT"]);
  await store.close();
});

test("a COMMIT whose response is lost is waited for while the server cannot tell, and its session is closed once", async () => {
  const closed: boolean[] = [];
  let asked = 0;
  let isLost = false;
  const pool: PostgresPool = {
    async connect() {
      if (isLost && asked === 0) {
        asked++;
        throw new Error("connect ECONNREFUSED 127.0.0.1:5432");
      }
      const connection = await server.pool.connect();
      return {
        async query(statement) {
          const response = await connection.query(statement);
          if (!statement.text.includes("pg_xact_status")) return response;
          // Each time it can have another session.
          expect(statement.name).toBeUndefined();
          if (++asked > 2) return response;
          return { ...response, rows: response.rows.map(([, ...others]) => ["in progress", ...others]) };
        },
        release(close = false) {
          isLost ||= close;
          closed.push(close);
          connection.release(close);
        },
      };
    },
  };
  const store = createPostgresStore({ pool, schema: "committing" });
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  closed.length = 0;
  server.loseResponse();
  expect(await store.orders.place([{ record: { id: 2n }, status: "pending" }])).toEqual(["placed"]);
  expect(asked).toBe(3);
  expect(closed).toEqual([true, false, false]);
  expect((await store.orders.find(2n))?.status).toBe("pending");
  await store.close();
});
