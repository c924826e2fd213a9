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

/** A store with so many pending orders, and what opens an account of it with a key. */
async function openStore(schema: string, orders: number, pool: PostgresPool = server.pool) {
  const store = createPostgresStore({ pool, schema });
  onTestFinished(() => store.close());
  const ids = Array.from({ length: orders }, (_, id) => BigInt(id));
  await store.orders.place(
    ids.map((id) => ({ record: { id }, status: "pending" })),
    AT,
  );
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => AT });
  const issue = async (id: string) => {
    const { key, keyId } = (await accounts.issueKey(id)) as IssuedKey;
    const presented = parseKey(key) ?? expect.fail();
    const apply = (orderId: bigint, event: "cancel" | "ship" | "fulfil" = "cancel", at = AT) =>
      store.accounts.admit(presented, at, undefined, { type: "apply", id: orderId, event });
    return { presented, keyId, apply };
  };
  const openAccount = async (id: string, assignment: PlanAssignment = { plan: "free" }) => {
    await accounts.create(id, assignment);
    return issue(id);
  };
  return { store, ids, issue, openAccount };
}

const PLANS: readonly PlanAssignment[] = [
  { plan: "free" },
  { plan: "pro" },
  { plan: "enterprise", customLimits: { perMinute: 5, perDay: 5 } },
];

test("after the first cancel of a minute, each takes one statement, whatever the plan; the last one too", async () => {
  const { openAccount } = await openStore("plans", 20, observed(server.pool));
  let id = 0n;
  for (const [index, plan] of PLANS.entries()) {
    const { apply } = await openAccount(`shop-${index}`, plan);
    const cancel = () => apply(id++);
    await cancel();
    sent.length = 0;
    for (let request = 2; request <= 5; request++)
      expect(await cancel()).toMatchObject({ ok: true, outcome: { result: { ok: true } } });
    expect(sent, plan.plan).toEqual(Array(4).fill(["BEGIN", "WITH", "COMMIT"]).flat());
    if (plan.customLimits !== undefined) expect(await cancel()).toMatchObject({ ok: false });
  }
});

test("the cancels of several accounts in one turn of the event loop share a statement and a commit", async () => {
  const { ids, openAccount } = await openStore("shared", 6, observed(server.pool));
  const [one, two] = [await openAccount("one"), await openAccount("two")];
  const cancel = (id: bigint) => (id % 2n === 0n ? one : two).apply(id);
  for (const id of ids.slice(0, 2)) await cancel(id);
  sent.length = 0;
  const admissions = await Promise.all(ids.slice(2).map(cancel));
  expect(admissions.map((admission) => admission.ok && admission.quota.remaining)).toEqual([58, 58, 57, 57]);
  expect(sent).toEqual(["BEGIN", "WITH", "COMMIT"]);
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
  const { store, ids, issue, openAccount } = await openStore("two_keys", 8);
  const keys = [await openAccount("shop"), await issue("shop")];
  const cancel = (id: bigint, key = 0, policy?: AdmissionPolicy) =>
    store.accounts.admit(keys[key]?.presented ?? expect.fail(), AT, policy, {
      ...{ type: "apply", id, event: "cancel" },
      // The character that stands for the key in what is sent.
      requestId: "a~b",
    });
  for (const [index] of keys.entries()) await cancel(ids[index] ?? 0n, index);

  const ofKeys = await Promise.all([cancel(2n, 0), cancel(3n, 1), cancel(4n, 1)]);
  for (const admission of ofKeys)
    expect(admission).toMatchObject({ ok: true, outcome: { result: { ok: true } } });
  const last = async (id: bigint) => (await store.orders.find(id))?.history.at(-1);
  expect(await Promise.all([2n, 3n, 4n].map(last))).toMatchObject(
    [0, 1, 1].map((key) => ({ by: keys[key]?.keyId, requestId: "a~b" })),
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
  const { store, openAccount } = await openStore("events", 1);
  const { keyId, apply } = await openAccount("shop");
  await Promise.all([apply(0n, "ship", AT + 1), apply(0n, "fulfil", AT + 2)]);
  expect(await store.orders.find(0n)).toMatchObject({
    record: { id: 0n, shipDate: new Date(AT + 1).toISOString(), complete: true },
    status: "shipped",
    history: [
      { event: "place", at: AT },
      { event: "ship", at: AT + 1, by: keyId },
      { event: "fulfil", at: AT + 2, by: keyId },
    ],
  });
});

test("of hundreds of cancels of an order at one instant, one succeeds", async () => {
  const { store, openAccount } = await openStore("instant", 1);
  const customLimits = { perMinute: 60_000, perDay: 60_000 };
  const { presented, apply } = await openAccount("shop", { plan: "enterprise", customLimits });
  await store.accounts.admit(presented, AT);
  const admissions = await Promise.all(Array.from({ length: 500 }, () => apply(0n)));
  const succeeded = admissions.flatMap((admission, index) =>
    admission.ok && admission.outcome?.type === "apply" && admission.outcome.result.ok ? [index] : [],
  );
  expect(succeeded).toEqual([0]);
  expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(501);
});

test("a list has its first page from the transaction that admits it", async () => {
  const { store, openAccount } = await openStore("lists", 1, observed(server.pool));
  const { presented } = await openAccount("shop");
  sent.length = 0;
  const [admission, counted] = await Promise.all([
    store.accounts.admit(presented, AT, undefined, { type: "list" }),
    store.accounts.admit(presented, AT),
  ]);
  const { outcome } = (admission.ok && admission) || expect.fail();
  expect(outcome).toMatchObject({ type: "list", first: { json: '{"id":0}', last: true } });
  expect(outcome?.type === "list" && (await collect(outcome.rest))).toEqual([]);
  expect(counted).toMatchObject({ ok: true, quota: { remaining: 58 } });
  expect(counted).not.toHaveProperty("outcome");
  expect(sent).toEqual(["BEGIN", "WITH", "UPDATE", "UPDATE", "SELECT", "COMMIT"]);
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
