import assert from "node:assert/strict";
import type { AccountStore } from "../../accounts/account-store.ts";
import { BAN_GRACE_MS, DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import type { Instant } from "../../core/time.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import { defineCases } from "./contract-case.ts";
import {
  AT,
  createAccountFixture,
  FIRST,
  KEY,
  LATER,
  LOW_LIMITS,
  limitedTo,
  outcomeName,
  SECOND,
} from "./fixture.ts";

export const banCases = defineCases({ of: "accounts" }, (test) => {
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
    for (const key of [FIRST, SECOND])
      assert.ok(
        (await burst(30, AT + MINUTE_MS, key)).every(
          (result) => outcomeName(result) === "rate_limit_exceeded",
        ),
      );
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
    assert.equal(
      outcomeName(await admit(AT)),
      "rate_limit_exceeded",
      "after the first that counts, each does",
    );
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
});

async function rejectionsOf(accounts: AccountStore): Promise<number | undefined> {
  return (await accounts.find("acme"))?.rejections[FIRST.id]?.count;
}
