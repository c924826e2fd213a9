import assert from "node:assert/strict";
import { revokeKey } from "../../accounts/account.ts";
import { BAN_GRACE_MS } from "../../accounts/admission.ts";
import { DAY_MS, MINUTE_MS } from "../../plans/windows.ts";
import { defineCases } from "./contract-case.ts";
import {
  AT,
  admitted,
  createAccountFixture,
  FIRST,
  LOW_LIMITS,
  limitedTo,
  outcomeName,
  SECOND,
} from "./fixture.ts";

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
});
