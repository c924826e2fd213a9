import { describe, expect, onTestFinished, test } from "vitest";
import { DEFAULT_BAN_POLICY } from "../../lib/accounts/admission.ts";
import { isStoreUnavailable } from "../../lib/core/errors.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { startPostgresProxy } from "../support/postgres/proxy.ts";
import { skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;
const ROUNDS = Array.from({ length: 10 }, (_, index) => index);
const shipped = (round: number) => BigInt(100 + round);
const cancelled = (round: number) => BigInt(200 + round);
const placed = (round: number) => BigInt(300 + round);
const hashOf = (round: number) => `${round}`.repeat(64);

/** A primary with orders and accounts, and a synchronous standby that can be cut off. */
async function startPair() {
  const primary = await startPostgres({ settings: { synchronous_standby_names: "*" } });
  onTestFinished(() => primary.remove());
  const proxy = await startPostgresProxy(primary.port);
  onTestFinished(() => proxy.close());
  const standby = await startPostgres({ primary: { ...primary, port: proxy.port } });
  onTestFinished(() => standby.remove());
  // The warning arrives all the same.
  await primary.sql("ALTER ROLE postgres SET client_min_messages = error");
  const store = createPostgresStore({ connectionString: primary.url(), poolSize: 60 });
  onTestFinished(() => store.close());
  await store.orders.place(ROUNDS.flatMap((round) => [pending(shipped(round)), pending(cancelled(round))]));
  for (const round of ROUNDS) {
    const keys = [{ id: `shop${round}.1`, hash: hashOf(round), createdAt: AT }];
    await store.accounts.create({ id: `shop${round}`, plan: "free", keys });
    await store.accounts.create({ id: `old${round}`, plan: "free", keys: [] });
  }
  /** Writes of each kind, each of which waits for the standby. */
  const write = () => {
    const calls = ROUNDS.flatMap((round) => {
      const presented = { accountId: `shop${round}`, hash: hashOf(round) };
      const operation = { type: "apply", id: cancelled(round), event: "cancel" } as const;
      return [
        store.orders.apply(shipped(round), "ship", AT),
        store.accounts.admit(presented, AT, DEFAULT_BAN_POLICY, operation),
        store.orders.place([pending(placed(round))]),
        store.accounts.create({ id: `new${round}`, plan: "free", keys: [] }),
        store.accounts.update(`old${round}`, (account) => ({
          ok: true,
          account: { ...account, plan: "pro" },
        })),
      ];
    });
    return Promise.allSettled<unknown>(calls);
  };
  const waiting = "pg_stat_activity WHERE wait_event = 'SyncRep'";
  /** What an operator, or a script against long queries, does with the sessions that wait. */
  const intervene = (by: string) => primary.sql(`SELECT count(${by}(pid)) FROM ${waiting}`).then(Number);
  /** Ends the primary, and returns the state of each order and account on the promoted standby. */
  async function failOver() {
    await proxy.close();
    await primary.crash();
    await standby.sql("SELECT pg_promote()");
    const orders = "string_agg(id || ' ' || status, ',' ORDER BY id) FROM store_orders.orders";
    const accounts = `string_agg(id || ' ' || plan, ',' ORDER BY id) FROM store_orders.accounts`;
    return [await standby.sql(`SELECT ${orders}`), await standby.sql(`SELECT ${accounts}`)];
  }
  return { primary, proxy, standby, store, write, intervene, failOver };
}

const before = [
  ROUNDS.flatMap((round) => `${shipped(round)} pending`)
    .concat(ROUNDS.map((round) => `${cancelled(round)} pending`))
    .join(),
  ["old", "shop"].flatMap((name) => ROUNDS.map((round) => `${name}${round} free`)).join(),
];

describe.skipIf(skipsWithoutPostgres("a synchronous standby"))("a synchronous standby", () => {
  describe.each(["pg_cancel_backend", "pg_terminate_backend"])("and %s of those who wait", (by) => {
    test("what the standby has not received is acknowledged to nobody", async () => {
      const { store, proxy, write, intervene, failOver } = await startPair();
      proxy.inject("hang");
      let isSettled = false;
      const calls = write().finally(() => {
        isSettled = true;
      });
      let interventions = 0;
      while (!isSettled) interventions += await intervene(by);
      expect(interventions).toBeGreaterThan(ROUNDS.length);
      const acknowledged = (await calls).filter(
        (call) => call.status === "fulfilled" || !isStoreUnavailable(call.reason),
      );
      expect(acknowledged).toEqual([]);
      // Nothing is written for an order that is there, and it is on the primary only.
      await expect(store.orders.place([pending(placed(0))])).rejects.toSatisfy(isStoreUnavailable);
      expect(await failOver()).toEqual(before);
    });

    test("what a later commit has brought to the standby is acknowledged, and survives the primary", async () => {
      const { proxy, write, intervene, failOver, primary } = await startPair();
      proxy.inject("hang");
      const calls = write();
      await expect
        .poll(() => primary.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))
        .toBe("41");
      await intervene(by);
      proxy.inject("none");
      const ok = { value: { ok: true } };
      const done = { value: { ok: true, outcome: { result: { ok: true } } } };
      expect(await calls).toMatchObject(ROUNDS.flatMap(() => [ok, done, { value: ["placed"] }, ok, ok]));
      const [orders, accounts] = await failOver();
      expect(orders?.match(/shipped|cancelled|3\d\d pending/g)).toHaveLength(30);
      expect(accounts?.match(/pro|new/g)).toHaveLength(20);
    });
  });
});
