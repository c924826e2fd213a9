import assert from "node:assert/strict";
import { revokeKey } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { type AdmissionPolicy, BAN_GRACE_MS, DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import type { Instant } from "../../core/time.ts";
import type { PlanLimits, PlanTable } from "../../plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS } from "../../plans/windows.ts";
import { defineCases } from "./contract-case.ts";
import {
  AT,
  admitted,
  createAccountFixture,
  FIRST,
  KEY,
  LATER,
  LOW_LIMITS,
  limitedTo,
  outcomeName,
  SECOND,
} from "./fixture.ts";

const POLICY: AdmissionPolicy = { ...DEFAULT_BAN_POLICY, plans: { tiny: { perMinute: 2, perDay: 3 } } };

const LIMITS = { perMinute: 2, perDay: 9 };

/** Tables of plans with the plan of an account and its own limits, and what its first two requests get. */
const TABLES: readonly (readonly [plans: PlanTable, plan: string, outcome: string, own?: PlanLimits])[] = [
  [{ pro: LIMITS }, "pro", "admitted"],
  [{ pro: { perMinute: 1, perDay: 1 }, own: "custom" }, "own", "admitted", LIMITS],
  [{ only: "custom" }, "only", "plan_without_limits"],
  [{ only: "custom" }, "only", "plan_without_limits", { perMinute: 2, perDay: 2 ** 60 }],
  [{ only: LIMITS }, "free", "plan_without_limits"],
  [{ only: LIMITS }, "toString", "plan_without_limits"],
  [{}, "only", "plan_without_limits"],
  [manyPlans(20), "plan-19", "admitted"],
];

function manyPlans(count: number): PlanTable {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`plan-${index}`, LIMITS]));
}

export const admissionCases = defineCases({ of: "accounts" }, (test) => {
  test("a key that was never issued is unknown, and its rejections count for no other, whether its account exists or not", async (accounts) => {
    const fixture = await createAccountFixture(accounts, { plan: "free" }, [FIRST]);
    assert.deepEqual(outcomeName(await fixture.admit(AT, SECOND)), "unknown_key");
    const ofNobody = { accountId: "nobody", hash: FIRST.hash };
    assert.equal(outcomeName(await accounts.admit(ofNobody, AT)), "unknown_key");
    for (const key of [{ accountId: "acme", hash: SECOND.hash }, ofNobody])
      await accounts.recordRejections(key, 30, AT);
    const { usage, rejections } = (await accounts.find("acme")) ?? assert.fail();
    assert.deepEqual([usage.day.count, rejections], [0, {}]);
  });

  test("an admitted request counts in both windows and returns the remaining quota", async (accounts) => {
    const fixture = await createAccountFixture(accounts);
    const result = await fixture.admit(AT);
    assert.ok(result.ok);
    assert.deepEqual(result.caller, { accountId: "acme", keyId: FIRST.id, plan: "free" });
    assert.deepEqual(result.quota, { limit: 60, remaining: 59, resetsAt: AT - 250 + MINUTE_MS });
    const { usage } = (await accounts.find("acme")) ?? assert.fail();
    assert.deepEqual(usage, {
      minute: { start: AT - 250, count: 1 },
      day: { start: AT - (AT % DAY_MS), count: 1 },
    });
  });

  test("a new minute admits requests again, but a day that is used up does not until midnight UTC", async (accounts) => {
    const fixture = await createAccountFixture(accounts, limitedTo(3, 5));
    assert.equal(admitted(await fixture.burst(4, AT)), 3);
    assert.equal(admitted(await fixture.burst(4, AT + MINUTE_MS)), 2);
    const rejected = await fixture.admit(AT + 2 * MINUTE_MS);
    assert.ok(!rejected.ok && rejected.code === "rate_limit_exceeded");
    const midnight = AT - (AT % DAY_MS) + DAY_MS;
    assert.deepEqual(rejected.quota, { limit: 5, remaining: 0, resetsAt: midnight });
    assert.equal(rejected.retryAfterSeconds, Math.ceil((midnight - AT - 2 * MINUTE_MS) / 1000));
    assert.equal(outcomeName(await fixture.admit(midnight - 1)), "rate_limit_exceeded");
    assert.equal(outcomeName(await fixture.admit(midnight)), "admitted");
  });

  test("concurrent requests across the end of a minute are each counted once, in the window that admits them", async (accounts) => {
    const fixture = await createAccountFixture(accounts, limitedTo(3, 1_000));
    let count = 0;
    for (let minute = 0; minute < 10; minute++) {
      const before = AT + minute * MINUTE_MS;
      const bursts = await Promise.all([fixture.burst(5, before), fixture.burst(3, before + MINUTE_MS)]);
      count += admitted(bursts.flat());
    }
    assert.equal((await accounts.find("acme"))?.usage.day.count, count);
  });

  test("two keys of one account share its limits", async (accounts) => {
    const fixture = await createAccountFixture(accounts, LOW_LIMITS);
    const results = await Promise.all([fixture.burst(6, AT, FIRST), fixture.burst(6, AT, SECOND)]);
    assert.equal(admitted(results.flat()), 9);
  });

  test("a process whose clock is behind counts in the window that others have opened", async (accounts) => {
    const fixture = await createAccountFixture(accounts, LOW_LIMITS);
    assert.equal(admitted(await fixture.burst(9, AT + MINUTE_MS)), 9);
    assert.equal(outcomeName(await fixture.admit(AT)), "rate_limit_exceeded");
    assert.equal(admitted(await fixture.burst(10, AT + 2 * MINUTE_MS)), 9);
  });

  test("a key stops working at its expiry, and a revoked key at the next request, even if the clock that revoked it was ahead", async (accounts) => {
    const fixture = await createAccountFixture(accounts, { plan: "free" }, [
      { ...FIRST, expiresAt: AT + 10 },
      SECOND,
    ]);
    assert.equal(outcomeName(await fixture.admit(AT + 9)), "admitted");
    assert.equal(outcomeName(await fixture.admit(AT + 10)), "expired");
    assert.equal(outcomeName(await fixture.admit(AT + 10, SECOND)), "admitted");
    await accounts.update("acme", (account) => revokeKey(account, SECOND.id, AT + 11));
    for (const at of [AT + 11, AT + 10])
      assert.equal(outcomeName(await fixture.admit(at, SECOND)), "unknown_key");
    assert.equal((await accounts.find("acme"))?.usage.day.count, 2);
  });

  test("a plan change keeps the counts of the current windows and applies the new limits at the next request", async (accounts) => {
    const fixture = await createAccountFixture(accounts, LOW_LIMITS);
    assert.equal(admitted(await fixture.burst(10, AT)), 9);
    await accounts.update("acme", ({ id, keys }) => ({ ok: true, account: { id, keys, plan: "pro" } }));
    const next = await fixture.admit(AT);
    assert.equal(next.ok && next.quota.remaining, 290);
    await accounts.update("acme", ({ id, keys }) => ({ ok: true, account: { id, keys, ...LOW_LIMITS } }));
    const rejected = await fixture.admit(AT);
    assert.ok(!rejected.ok && rejected.code === "rate_limit_exceeded");
    assert.equal(rejected.quota.remaining, 0);
  });

  test("a window or a ban that a wrong clock wrote far in the future is replaced at the next request", async (accounts) => {
    const fixture = await createAccountFixture(accounts, limitedTo(3, 1_000));
    const farFuture = AT + 365 * DAY_MS;
    await fixture.burst(4, farFuture);
    const future = await fixture.burst(21, farFuture + BAN_GRACE_MS);
    assert.ok(future.some((result) => outcomeName(result) === "api_key_banned"));
    assert.equal(admitted(await fixture.burst(5, AT)), 3);
    const { usage } = (await accounts.find("acme")) ?? assert.fail();
    assert.deepEqual(usage.minute, { start: AT - 250, count: 3 });
    assert.equal(admitted(await fixture.burst(5, AT + MINUTE_MS)), 3);
  });

  test("what is rejected within 10 seconds of a key's first rejection in a minute does not count, in any order", async (accounts) => {
    const { burst } = await createAccountFixture(accounts, LOW_LIMITS);
    await burst(9, AT);
    const bursts = [await burst(50, AT + 1), await burst(50, AT + BAN_GRACE_MS), await burst(50, AT)];
    assert.deepEqual(new Set(bursts.flat().map(outcomeName)), new Set(["rate_limit_exceeded"]));
    const [windowStart, firstAt] = [AT - 250, AT + 1];
    assert.deepEqual((await accounts.find("acme"))?.rejections, {
      [FIRST.id]: { windowStart, count: 0, firstAt },
    });
    await burst(1, firstAt + BAN_GRACE_MS);
    assert.deepEqual((await accounts.find("acme"))?.rejections, { [FIRST.id]: { windowStart, count: 1 } });
    // Rejections of another minute or of another key have counters of their own.
    await burst(9, AT + MINUTE_MS);
    for (const key of [FIRST, SECOND]) {
      const outcomes = (await burst(30, AT + MINUTE_MS, key)).map(outcomeName);
      assert.deepEqual(new Set(outcomes), new Set(["rate_limit_exceeded"]));
    }
  });

  test("the 21st rejected request of a key in one minute that counts bans that key for 15 minutes, and no other key", async (accounts) => {
    const { admit, burst } = await createAccountFixture(accounts, LOW_LIMITS);
    await burst(10, AT);
    const rejections = await burst(20, LATER);
    assert.ok(rejections.every((result) => outcomeName(result) === "rate_limit_exceeded"));
    const ban = await admit(LATER + 2);
    assert.ok(!ban.ok && ban.code === "api_key_banned");
    assert.deepEqual([ban.startsBan, ban.quota.remaining], [true, 0]);
    assert.equal(ban.retryAfterSeconds, DEFAULT_BAN_POLICY.durationMs / 1000);
    const until = LATER + 2 + DEFAULT_BAN_POLICY.durationMs;
    assert.equal((await accounts.find("acme"))?.rejections[FIRST.id]?.bannedUntil, until);
    const later = await admit(AT + MINUTE_MS);
    assert.ok(!later.ok && later.code === "api_key_banned" && !later.startsBan);
    assert.equal(outcomeName(await admit(AT + MINUTE_MS, SECOND)), "admitted");
    assert.equal(outcomeName(await admit(AT + MINUTE_MS)), "api_key_banned", "even below the limit");
    assert.equal((await accounts.find("acme"))?.usage.minute.count, 1, "rejections count in no window");
    assert.equal(outcomeName(await admit(until - 1)), "api_key_banned");
    assert.equal(outcomeName(await admit(until)), "admitted");
  });

  test("recorded rejections add to the count of the minute and trigger the ban", async (accounts) => {
    const { admit, burst } = await createAccountFixture(accounts, LOW_LIMITS);
    await burst(10, AT - 1);
    await accounts.recordRejections(KEY, 7, AT);
    assert.equal(await rejectionsOf(accounts), 7);
    const next = outcomeName(await admit(AT));
    assert.equal(next, "rate_limit_exceeded", "after the first that counts, each does");
    await accounts.recordRejections(KEY, 12, AT);
    assert.equal(await rejectionsOf(accounts), 20);
    assert.equal(outcomeName(await admit(AT)), "api_key_banned");
    await accounts.recordRejections(KEY, 5, AT);
    assert.equal(await rejectionsOf(accounts), 21, "a banned key's rejections are not counted");
    await accounts.recordRejections({ accountId: "acme", hash: SECOND.hash }, 21, AT);
    assert.equal(outcomeName(await admit(AT + MINUTE_MS, SECOND)), "api_key_banned");
  });

  test("rejections of different minutes do not add up, and requests during a ban do not extend it", async (accounts) => {
    const { admit, burst } = await createAccountFixture(accounts, limitedTo(1, 1_000));
    for (const minute of [0, MINUTE_MS]) {
      const results = [await burst(2, AT + minute), await burst(20, LATER + minute)];
      assert.equal(results.flat().map(outcomeName).includes("api_key_banned"), false);
    }
    assert.equal(outcomeName(await admit(LATER + MINUTE_MS)), "api_key_banned");
    await burst(5, AT + 5 * MINUTE_MS);
    assert.equal(outcomeName(await admit(LATER + MINUTE_MS + DEFAULT_BAN_POLICY.durationMs)), "admitted");
  });

  test("an unban lifts the ban of one key at its next request and resets its rejection count, and keeps its expiry", async (accounts) => {
    const expiring = { ...SECOND, expiresAt: AT + 2 * MINUTE_MS };
    const { admit, burst } = await createAccountFixture(accounts, LOW_LIMITS, [FIRST, expiring]);
    await burst(10, AT);
    await burst(21, LATER);
    await accounts.recordRejections({ accountId: "acme", hash: SECOND.hash }, 21, AT);
    const outcomes = async () => [
      outcomeName(await admit(AT + MINUTE_MS)),
      outcomeName(await admit(AT + MINUTE_MS, SECOND)),
    ];
    await accounts.unban("acme", "acme.nobody");
    await accounts.unban("nobody", FIRST.id);
    assert.deepEqual(await outcomes(), ["api_key_banned", "api_key_banned"]);
    await accounts.unban("acme", SECOND.id);
    assert.deepEqual(await outcomes(), ["api_key_banned", "admitted"], "the other key stays banned");
    await accounts.unban("acme", FIRST.id);
    assert.deepEqual(await outcomes(), ["admitted", "admitted"]);
    assert.deepEqual((await accounts.find("acme"))?.rejections, {});
    assert.equal(outcomeName(await admit(AT + 2 * MINUTE_MS, SECOND)), "expired");
  });

  test("the given policy sets the threshold and the length of a ban", async (accounts) => {
    await createAccountFixture(accounts, limitedTo(1, 9));
    const policy = { maxRejections: 0, durationMs: 2 * MINUTE_MS };
    const admit = async (at: Instant) => outcomeName(await accounts.admit(KEY, at, policy));
    assert.deepEqual([await admit(AT), await admit(AT)], ["admitted", "rate_limit_exceeded"]);
    assert.equal(await admit(LATER), "api_key_banned");
    assert.equal(await admit(LATER + 2 * MINUTE_MS), "admitted");
  });

  test("requests are admitted exactly up to the limits of the plans that are passed, in both windows", async (accounts) => {
    await accounts.create({ id: "acme", plan: "tiny", keys: [FIRST] });
    const [admitted, rejected] = ["admitted", "rate_limit_exceeded"];
    const burst = async (count: number, at: number) => {
      const all = await Promise.all(Array.from({ length: count }, () => accounts.admit(KEY, at, POLICY)));
      return all.map(outcomeName).toSorted();
    };
    assert.deepEqual(await burst(4, AT), [admitted, admitted, rejected, rejected]);
    assert.deepEqual(await burst(2, AT + MINUTE_MS), [admitted, rejected]);
    assert.deepEqual(await burst(1, AT + DAY_MS), [admitted]);
  });

  test("a table can have one plan, as many as are permitted, or none, and an account without limits by it is not counted", async (accounts) => {
    for (const [index, [plans, plan, outcome, customLimits]] of TABLES.entries()) {
      const id = `acme-${index}`;
      const key = { ...FIRST, id: `${id}.key`, hash: `${index}`.repeat(64) };
      await accounts.create({ id, plan, ...(customLimits && { customLimits }), keys: [key] });
      const admit = () =>
        accounts.admit({ accountId: id, hash: key.hash }, AT, { ...DEFAULT_BAN_POLICY, plans });
      const outcomes = [await admit(), await admit(), await admit()].map(outcomeName);
      const [third, count] = outcome === "admitted" ? ["rate_limit_exceeded", 2] : [outcome, 0];
      assert.deepEqual(outcomes, [outcome, outcome, third], `${Object.keys(plans).length} plans`);
      assert.equal((await accounts.find(id))?.usage.day.count, count, "what is admitted is counted");
    }
  });
});

async function rejectionsOf(accounts: AccountStore): Promise<number | undefined> {
  return (await accounts.find("acme"))?.rejections[FIRST.id]?.count;
}
