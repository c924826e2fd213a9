import assert from "node:assert/strict";
import { addKey, revokeKey } from "../../accounts/account.ts";
import { type BanPolicy, DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import { mapBounded } from "../../core/concurrency.ts";
import { type OrderEvent, type OrderStatus, sumByStatus, transition } from "../../orders/lifecycle.ts";
import type { ApplyResult } from "../../orders/order-store.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import type { Store } from "../store.ts";
import { type AllOptions, collect, defineCases } from "./contract-case.ts";
import {
  AT,
  apiKey,
  createAccountFixture,
  FIRST,
  idsUpTo,
  KEY,
  LATER,
  limitedTo,
  outcomeName,
  pending,
  replacing,
  SECOND,
} from "./fixture.ts";
import { request } from "./operation-cases.ts";

const INSTANCES = 4;
/** How many calls an instance makes at once. */
const LANES = 5;
const HIGHEST = limitedTo(60_000, 600_000);
const NO_BAN: BanPolicy = { maxRejections: 10_000, durationMs: 1 };

async function openAll(store: Store, { openAnother }: AllOptions, count = INSTANCES) {
  const others = Array.from({ length: count - 1 }, async () => openAnother());
  return [store, ...(await Promise.all(others))];
}

/** The guarantees that span several instances of a store on one database, as several processes are. */
export const instanceCases = defineCases({ of: "store" }, (test) => {
  test("of 400 concurrent requests over 4 instances, exactly 60 are admitted, and all others are counted as rejected", async (store, options) => {
    await createAccountFixture(store.accounts);
    // After one that has counted, each does.
    await store.accounts.recordRejections(KEY, 1, AT);
    const calls = Array.from({ length: 100 }, (_, call) => call);
    const instances = await openAll(store, options);
    const results = await Promise.all(
      instances.map(({ accounts }) => mapBounded(calls, LANES, () => accounts.admit(KEY, AT, NO_BAN))),
    );
    const admissions = results.flat();
    const left = admissions.flatMap((admission) => (admission.ok ? [admission.quota.remaining] : []));
    assert.equal(left.length, 60, "60 requests are admitted");
    assert.equal(new Set(left).size, 60, "each admitted request returns a different remaining quota");
    const rejected = admissions.filter((admission) => outcomeName(admission) === "rate_limit_exceeded");
    assert.equal(rejected.length, 340, "every other request is rejected with rate_limit_exceeded");
    const { usage, rejections } = (await store.accounts.find("acme")) ?? assert.fail();
    assert.deepEqual([usage.minute.count, usage.day.count], [60, 60], "both windows have counted 60");
    assert.equal(rejections[FIRST.id]?.count, 341, "every rejection is counted");
  });

  for (const through of ["apply", "an admission"] as const)
    test(`when instances cancel and ship the same orders through ${through}, one succeeds and the others get its status`, async (store, options) => {
      const ids = idsUpTo(100);
      await store.orders.place(ids.map(pending));
      const instances = await openAll(store, options);
      // An account each: a store that locks the account of a request does not lock the order by that.
      const keys = instances.map((_, index) => ({ accountId: `shop-${index}`, hash: `${index}`.repeat(64) }));
      for (const { accountId, hash } of keys) {
        const first = { id: `${accountId}.first`, hash, createdAt: AT };
        await store.accounts.create({ id: accountId, ...HIGHEST, keys: [first] });
      }
      const races = await Promise.all(
        instances.map(async (instance, index) => {
          const event: OrderEvent = index % 2 === 0 ? "cancel" : "ship";
          const apply = async (id: bigint): Promise<ApplyResult> => {
            if (through === "apply") return instance.orders.apply(id, event, AT);
            const { outcome } = await request(instance, { type: "apply", id, event }, keys[index]);
            return outcome?.type === "apply" ? outcome.result : assert.fail("The event has an outcome.");
          };
          // The cancels start at both ends.
          const sorted = index % 2 === 0 ? ids : ids.toReversed();
          const results = await mapBounded(sorted, LANES, async (id) => [id, await apply(id)] as const);
          return { event, results: new Map(results) };
        }),
      );
      const statuses: OrderStatus[] = [];
      for (const id of ids) {
        const found = (await store.orders.find(id)) ?? assert.fail(`Order ${id} exists.`);
        statuses.push(found.status);
        let successes = 0;
        for (const { event, results } of races) {
          const result = results.get(id) ?? assert.fail();
          const expected = result.ok ? transition(pending(id), event, AT) : transition(found, event, AT);
          assert.deepEqual(result, expected, `'${event}' on order ${id}, which is ${found.status}`);
          if (result.ok) successes++;
        }
        assert.equal(successes, 1, `one of ${INSTANCES} events on order ${id} succeeds`);
        const events = found.history.map((change) => change.event).join();
        assert.equal(events, found.status === "shipped" ? "place,ship" : "place,cancel", `order ${id}`);
      }
      const counts = sumByStatus(statuses.map((status) => [status, 1]));
      for (const { orders } of instances) assert.deepEqual(await orders.countByStatus(), counts);
      if (through === "an admission")
        for (const { accountId } of keys) {
          const { usage } = (await store.accounts.find(accountId)) ?? assert.fail();
          assert.equal(usage.day.count, ids.length, "each is counted");
        }
    });

  test("a ban, an unban, a revocation, a new key and a new plan in one instance apply to the next request in every other", async (store, options) => {
    const { burst } = await createAccountFixture(store.accounts, { plan: "free" }, [FIRST]);
    const [, ...others] = await openAll(store, options, 3);
    const outcomes = async (at: number, { hash } = FIRST) => {
      const names: string[] = [];
      for (const { accounts } of others) names.push(outcomeName(await accounts.admit({ ...KEY, hash }, at)));
      return names;
    };
    const update = async (updater: Parameters<typeof store.accounts.update>[1]) =>
      assert.equal((await store.accounts.update("acme", updater)).ok, true);
    assert.deepEqual(await outcomes(AT), ["admitted", "admitted"]);
    await update((account) => addKey(account, SECOND, AT));
    assert.deepEqual(await outcomes(AT, SECOND), ["admitted", "admitted"], "the new key");
    await burst(60 - 4 + 1, AT);
    await burst(DEFAULT_BAN_POLICY.maxRejections + 1, LATER);
    const nextMinute = AT + MINUTE_MS;
    assert.deepEqual(await outcomes(nextMinute), ["api_key_banned", "api_key_banned"], "the ban");
    await store.accounts.unban("acme", FIRST.id);
    assert.deepEqual(await outcomes(nextMinute), ["admitted", "admitted"], "the unban");
    await update(replacing(limitedTo(3, 1_000)));
    assert.deepEqual(await outcomes(nextMinute), ["admitted", "rate_limit_exceeded"], "the new plan");
    await store.accounts.resetUsage("acme");
    assert.deepEqual(await outcomes(nextMinute), ["admitted", "admitted"], "the reset");
    await update((account) => revokeKey(account, SECOND.id, AT));
    assert.deepEqual(await outcomes(nextMinute, SECOND), ["unknown_key", "unknown_key"], "the revocation");
  });

  test("rejections that instances count at the same time add up to one ban, which is reported once", async (store, options) => {
    const { admit } = await createAccountFixture(store.accounts, limitedTo(1, 1_000));
    await admit(AT);
    const instances = await openAll(store, options);
    await Promise.all(instances.map(({ accounts }) => accounts.recordRejections(KEY, 4, AT)));
    assert.equal((await store.accounts.find("acme"))?.rejections[FIRST.id]?.count, 16);
    const results = await Promise.all(
      instances.map(({ accounts }) => mapBounded([1, 2, 3], LANES, () => accounts.admit(KEY, AT))),
    );
    const admissions = results.flat();
    const limited = admissions.filter((result) => outcomeName(result) === "rate_limit_exceeded");
    assert.equal(limited.length, 4, "20 rejections in all do not ban");
    const bans = admissions.filter((result) => !result.ok && "startsBan" in result && result.startsBan);
    assert.equal(bans.length, 1, "one ban is reported");
    assert.equal((await store.accounts.find("acme"))?.rejections[FIRST.id]?.count, 21);
  });

  test("when instances place the same orders, each is placed once, and one with other content is a conflict", async (store, options) => {
    const ids = idsUpTo(60);
    const instances = await openAll(store, options);
    const outcomes = await Promise.all(
      instances.map(({ orders }, index) => {
        const status = index === 0 ? "shipped" : "pending";
        const placed = ids.map((id) => ({ ...pending(id), status }) as const);
        return orders.place(index % 2 === 0 ? placed : placed.toReversed());
      }),
    );
    for (const id of ids) {
      const { status } = (await store.orders.find(id)) ?? assert.fail(`Order ${id} is placed.`);
      const place = Number(id);
      const ofOrder = outcomes.map((all, index) => all.at(index % 2 === 0 ? place : -1 - place));
      const expected =
        status === "shipped"
          ? ["placed", "conflict", "conflict", "conflict"]
          : ["conflict", "placed", "unchanged", "unchanged"];
      assert.deepEqual([...ofOrder.slice(0, 1), ...ofOrder.slice(1).sort()], expected, `order ${id}`);
    }
  });

  test("of instances that create one account, one succeeds, and keys that they add are all kept, up to 20", async (store, options) => {
    const instances = await openAll(store, options);
    const created = await Promise.all(
      instances.map(({ accounts }, index) =>
        accounts.create({ id: "acme", plan: index % 2 === 0 ? "free" : "pro", keys: [] }),
      ),
    );
    const winner = created.find(({ ok }) => ok);
    assert.equal(created.filter(({ ok }) => ok).length, 1, "one instance creates the account");
    assert.equal((await store.accounts.find("acme"))?.plan, winner?.ok && winner.account.plan);
    // One key of each instance at a time: more of them would only wait for each other.
    let added = 0;
    for (let round = 0; round * INSTANCES < 24; round++) {
      const updated = await Promise.all(
        instances.map(({ accounts }, index) =>
          accounts.update("acme", (account) => addKey(account, apiKey(round * INSTANCES + index), AT)),
        ),
      );
      added += updated.filter(({ ok }) => ok).length;
    }
    assert.equal(added, 20, "20 keys are added");
    assert.equal((await store.accounts.find("acme"))?.keys.length, 20, "20 keys are kept");
  });

  test("an account is read either before or after an update by another instance, never in between", async (store, options) => {
    await createAccountFixture(store.accounts, HIGHEST, [FIRST]);
    const another = await options.openAnother();
    let isDone = false;
    const update = async () => {
      for (let limit = 1; limit <= 60; limit++) {
        const keys = [{ ...FIRST, expiresAt: limit }];
        await another.accounts.update("acme", replacing({ ...limitedTo(limit, limit), keys }));
      }
      isDone = true;
    };
    const read = async () => {
      while (!isDone) {
        const seen = (await store.accounts.find("acme")) ?? assert.fail("The account exists.");
        const limit = seen.keys[0]?.expiresAt ?? HIGHEST.customLimits.perMinute;
        assert.equal(seen.customLimits?.perMinute, limit, "limits and keys of an account belong together");
        await new Promise((resolve) => setTimeout(resolve));
      }
    };
    await Promise.all([update(), read()]);
  });

  test("a list contains each order once that exists throughout, while another instance adds and changes orders", async (store, options) => {
    const { orders } = await options.openAnother();
    const ids = idsUpTo(1_100).map((id) => 3n * id);
    await store.orders.place(ids.map(pending));
    const seen: string[] = [];
    let [more, pages] = [-1n, 0];
    for await (const { json } of store.orders.list()) {
      seen.push(...[...json.matchAll(/"id":(-?\d+)/g)].map(([, id]) => `${id}`));
      await orders.apply(ids[seen.length] ?? 0n, "ship", AT);
      await orders.place([pending(more--), pending(10_000n - more)]);
      assert.ok(++pages < 2_000, "the list ends");
    }
    assert.equal(new Set(seen).size, seen.length, "no order is listed twice");
    const missing = ids.find((id) => !seen.includes(`${id}`));
    assert.equal(missing, undefined, `order ${missing} is listed`);
    const counts = await Promise.all([store.orders.countByStatus(), orders.countByStatus()]);
    assert.deepEqual(counts[0], counts[1], "both instances count the same");
  });

  test("the environment that one instance has recorded stays, and is no account", async (store, options) => {
    assert.equal(await store.accounts.findEnvironment(), undefined, "no environment is recorded yet");
    const instances = await openAll(store, options);
    const recorded = await Promise.all(
      instances.map(({ accounts }, index) => accounts.recordEnvironment(index % 2 === 0 ? "live" : "test")),
    );
    assert.equal(new Set(recorded).size, 1, "every instance gets the environment that was recorded first");
    const [first] = recorded;
    assert.ok(first === "live" || first === "test", `the environment is ${first}`);
    for (const { accounts } of instances)
      assert.equal(await accounts.findEnvironment(), first, "every instance finds it");
    for (const environment of ["test", "live"] as const)
      assert.equal(await store.accounts.recordEnvironment(environment), first);
    assert.deepEqual(await collect(store.accounts.list()), []);
  });

  test("an instance that is closed leaves the others usable", async (store, options) => {
    const other = await options.openAnother();
    const another = await options.openAnother();
    await another.orders.place([pending(1n)]);
    await options.closeAnother(another);
    await assert.doesNotReject(store.check(), "an instance that is closed leaves the others usable");
    assert.equal((await store.orders.apply(1n, "cancel", AT)).ok, true);
    assert.equal((await other.orders.find(1n))?.status, "cancelled");
  });
});
