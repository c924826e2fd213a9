import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AccountSettings, ApiKey } from "../../lib/accounts/account.ts";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { type Admission, BAN_GRACE_MS, type Rejection } from "../../lib/accounts/admission.ts";
import { withRejectionCache } from "../../lib/accounts/rejection-cache.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { MAX_STORE_CALL_MS } from "../../lib/core/time.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

afterEach(() => void vi.useRealTimers());

const MINUTE = Date.UTC(2026, 10, 20, 12);
/** From here on, every rejection of a key that was rejected at the start of the minute counts. */
const AT = MINUTE + BAN_GRACE_MS;
const KEY: ApiKey = { id: "acme.first", hash: "1".repeat(64), createdAt: AT };

const SETTINGS: AccountSettings = {
  id: "acme",
  plan: "enterprise",
  customLimits: { perMinute: 1, perDay: 100 },
  keys: [KEY],
};

const PRESENTED = { accountId: "acme", hash: KEY.hash };

/** Adds the account. Each of its keys was rejected at the start of the minute, and the account has the whole minute left. */
async function createAccount(accounts: AccountStore, settings = SETTINGS): Promise<void> {
  await accounts.create({ ...settings, customLimits: { perMinute: 1, perDay: 100 } });
  for (const { hash } of settings.keys.slice(0, 1).concat(settings.keys))
    await accounts.admit({ accountId: settings.id, hash }, MINUTE);
  await accounts.update(settings.id, ({ id, keys }) => ({ ok: true, account: { ...settings, id, keys } }));
  await accounts.resetUsage(settings.id);
}

/** A cache over a store that counts its calls, and whose responses wait for `respond()` while they are held. */
async function createCacheFixture(settings = SETTINGS) {
  const { accounts } = createMemoryStore();
  await createAccount(accounts, settings);
  let calls = 0;
  const state = { isDown: false, rejectsReports: false, isSilent: false, holds: false };
  const waiting: (() => void)[] = [];
  const call = <T>(run: () => Promise<T>) => {
    calls++;
    if (state.isDown) throw new StoreUnavailableError("The store is down.");
    return run();
  };
  const cached = withRejectionCache({
    ...accounts,
    admit: async (...args) => {
      const admission = await call(() => accounts.admit(...args));
      if (state.holds) await new Promise<void>((resolve) => waiting.push(resolve));
      return admission;
    },
    recordRejections: async (...args) => {
      if (state.isSilent) await new Promise<never>(() => {});
      if (state.rejectsReports) throw new StoreUnavailableError("The store is down.");
      await call(() => accounts.recordRejections(...args));
    },
  });
  const admit = async (at: number) => outcomeOf(await cached.admit(PRESENTED, at));
  return {
    ...{ accounts, cached, state, waiting, admit },
    /** Sends requests one after another, so many milliseconds apart. */
    async send(count: number, from: number, everyMs = 1) {
      for (let sent = 0; sent < count; sent++) await admit(from + sent * everyMs);
    },
    calls: () => calls,
    /** Sends requests at once, whose responses the store has decided and holds. */
    async hold(count: number, at = AT) {
      state.holds = true;
      const requests = Array.from({ length: count }, () => admit(at));
      await vi.waitUntil(() => waiting.length === count);
      state.holds = false;
      return requests;
    },
    /** The rejections until a ban or an admission, each after a held response. */
    async countRejections() {
      let count = 0;
      for (; (await admit(AT)) === "rate_limit_exceeded"; count++) {
        waiting.pop()?.();
        await nextTurn();
      }
      return count;
    },
    rejections: async () => (await accounts.find("acme"))?.rejections[KEY.id]?.count,
    setPlan: (store: AccountStore, plan: Omit<AccountSettings, "id" | "keys">) =>
      store.update("acme", ({ id, keys }) => ({ ok: true, account: { id, keys, ...plan } })),
  };
}

const outcomeOf = (admission: Admission) => (admission.ok ? "admitted" : admission.code);

describe("a rejected key", () => {
  test("a rejected key is rejected from memory for a second, and then by the store again", async () => {
    const { admit, calls } = await createCacheFixture();
    expect([await admit(AT), await admit(AT + 1)]).toEqual(["admitted", "rate_limit_exceeded"]);
    for (let after = 2; after < 6; after++) expect(await admit(AT + after)).toBe("rate_limit_exceeded");
    expect(calls()).toBe(2);
    await admit(AT + 1_001);
    expect(calls(), "exactly a second later, one call reports the four rejections, one decides").toBe(4);
  });

  test("a rejected key that is banned is rejected from memory also in the next minute", async () => {
    const { admit, calls, send } = await createCacheFixture();
    await send(22, MINUTE + 59_500);
    const before = calls();
    expect(await admit(MINUTE + 60_100)).toBe("api_key_banned");
    expect(calls()).toBe(before);
  });

  test("is admitted at the end of its ban, although the store rejected it just before", async () => {
    const { admit, cached, send } = await createCacheFixture();
    await send(22, AT);
    const banned = (await cached.admit(PRESENTED, AT + 30)) as Rejection;
    const end = banned.rejections.bannedUntil ?? 0;
    expect(end).toBeGreaterThan(AT + 14 * MINUTE_MS);
    expect(await admit(end - 1)).toBe("api_key_banned");
    expect(await admit(end)).toBe("admitted");
  });

  test("queries the store once when many requests arrive as its entry expires", async () => {
    const { admit, calls, send } = await createCacheFixture();
    await send(30, AT);
    const before = calls();
    const burst = Array.from({ length: 50 }, (_, request) => admit(AT + 2_000 + (request >> 3)));
    expect(new Set(await Promise.all(burst))).toEqual(new Set(["api_key_banned"]));
    expect(calls()).toBe(before + 1);
  });

  test.each([
    [0, 0],
    [1, 4],
    [4, 20],
    [200, 1_000],
  ])(
    "of the rejections before a ban, at most a fifth is unreported: %d of %d",
    async (unreported, maxRejections) => {
      const { cached, rejections } = await createCacheFixture();
      const policy = { maxRejections, durationMs: MINUTE_MS };
      let most = 0;
      await cached.admit(PRESENTED, AT, policy);
      for (let rejected = 1; rejected <= maxRejections; rejected++) {
        expect(await cached.admit(PRESENTED, AT + 1, policy)).toMatchObject({ code: "rate_limit_exceeded" });
        most = Math.max(most, rejected - ((await rejections()) ?? 0));
      }
      expect(most).toBe(unreported);
      expect(await cached.admit(PRESENTED, AT + 1, policy)).toMatchObject({ code: "api_key_banned" });
    },
  );

  test("the rejections of a minute that has ended are not reported", async () => {
    const { admit, calls, send } = await createCacheFixture();
    await send(5, AT);
    const before = calls();
    expect(await admit(AT + MINUTE_MS)).toBe("admitted");
    expect(calls() - before).toBe(1);
  });
});

describe("an unban, a better plan and a reset of the counters", () => {
  test("an unban, a better plan and a reset of the counters take effect within a second when another process applies them", async () => {
    const { accounts, admit, send, setPlan } = await createCacheFixture();
    await send(25, AT);
    await accounts.unban("acme", KEY.id);
    await setPlan(accounts, { plan: "pro" });
    expect(await admit(AT + 30)).toBe("api_key_banned");
    expect(await admit(AT + 1_030)).toBe("admitted");
  });

  test("an unban or a plan of another key or account leaves the rejections of a key in memory", async () => {
    const { accounts, cached, admit, calls, send } = await createCacheFixture();
    await accounts.create({ ...SETTINGS, id: "other", keys: [] });
    await send(3, AT);
    const before = calls();
    await cached.unban("acme", "acme.second");
    await cached.resetUsage("other");
    expect(await admit(AT + 3)).toBe("rate_limit_exceeded");
    expect(calls()).toBe(before);
  });

  test("an admission by the store ends the rejections from memory", async () => {
    const { accounts, admit, send, setPlan } = await createCacheFixture();
    await send(6, AT);
    await setPlan(accounts, { plan: "pro" });
    expect([await admit(AT + 6), await admit(AT + 7)]).toEqual(["admitted", "admitted"]);
  });

  test.each(["unban", "plan", "reset"] as const)(
    "an unban, a better plan and a reset of the counters (here: %s) take effect at once, although the response to an earlier request arrives later",
    async (change) => {
      const { accounts, cached, admit, waiting, hold, setPlan } = await createCacheFixture();
      await admit(AT);
      if (change === "unban") await accounts.recordRejections(PRESENTED, 21, AT);
      const [earlier] = await hold(1);
      if (change === "unban") await cached.unban("acme", KEY.id);
      if (change === "plan") await setPlan(cached, { plan: "pro" });
      if (change === "reset") await cached.resetUsage("acme");
      waiting.pop()?.();
      const expected = change === "unban" ? "rate_limit_exceeded" : "admitted";
      expect(await earlier).not.toBe("admitted");
      expect(await admit(AT + 1)).toBe(expected);
    },
  );
});

test("what is rejected from memory within 10 seconds of the first rejection of a minute is neither counted nor reported", async () => {
  vi.useFakeTimers({ now: AT });
  const { admit, rejections, calls } = await createCacheFixture();
  const next = MINUTE + MINUTE_MS;
  expect(await admit(next)).toBe("admitted");
  const before = calls();
  for (let ms = 0; ms < BAN_GRACE_MS; ms += 10) expect(await admit(next + ms)).toBe("rate_limit_exceeded");
  await vi.advanceTimersByTimeAsync(2_000);
  expect([await rejections(), calls() - before]).toEqual([0, 10]);
  for (let count = 1; count <= 20; count++)
    expect(await admit(next + BAN_GRACE_MS)).toBe("rate_limit_exceeded");
  expect(await admit(next + BAN_GRACE_MS)).toBe("api_key_banned");
});

describe("rejections from memory", () => {
  beforeEach(() => void vi.useFakeTimers({ now: AT }));

  /** Several processes that use one store, with a virtual clock and timers. */
  async function createProcesses(count: number) {
    const { accounts } = createMemoryStore();
    await createAccount(accounts);
    const processes = Array.from({ length: count }, () => withRejectionCache(accounts));
    await accounts.admit(PRESENTED, AT);
    return {
      accounts,
      admit: async (process: number) => {
        const from = processes[process % count] ?? accounts;
        return outcomeOf(await from.admit(PRESENTED, Date.now()));
      },
      counted: async () => (await accounts.find("acme"))?.rejections[KEY.id],
    };
  }

  /** An account with 20 keys, whose hashes are their numbers. */
  async function createKeys() {
    const { accounts } = createMemoryStore();
    const numbers = Array.from({ length: 20 }, (_, index) => `${index}`);
    const keys = numbers.map((hash): ApiKey => ({ ...KEY, id: `acme.${hash}`, hash }));
    await createAccount(accounts, { ...SETTINGS, keys });
    return { accounts, keys };
  }

  test.each([1, 2, 4, 9])("of %d processes ban a key at most four rejections late each", async (count) => {
    const { admit } = await createProcesses(count);
    let rejections = 0;
    while ((await admit(rejections)) === "rate_limit_exceeded") {
      rejections++;
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(rejections).toBeGreaterThanOrEqual(20);
    expect(rejections).toBeLessThanOrEqual(20 + (count === 1 ? 0 : 4 * count));
  });

  test.each([1, 2, 4])(
    "of %d processes ban a key within a second when silence follows a burst",
    async (count) => {
      const { admit, counted } = await createProcesses(count);
      const burst = await Promise.all(Array.from({ length: 25 }, (_, request) => admit(request)));
      expect(burst).not.toContain("admitted");
      await vi.advanceTimersByTimeAsync(1_000);
      expect((await counted())?.bannedUntil).toBeGreaterThan(Date.now());
      expect(await admit(0)).toBe("api_key_banned");
    },
  );

  test("count for the ban once they are reported", async () => {
    const { cached } = await createCacheFixture();
    const policy = { maxRejections: 4, durationMs: MINUTE_MS };
    const admit = async (at: number) => outcomeOf(await cached.admit(PRESENTED, AT + at, policy));
    for (const at of [0, 1, 2, 800, 850]) await admit(at);
    await vi.advanceTimersByTimeAsync(900);
    expect(await admit(950), "the fifth").toBe("api_key_banned");
  });

  test("that lead to a ban with those of another process begin it when the last one was rejected", async () => {
    const { accounts, admit } = await createCacheFixture();
    for (const at of [0, 10_000, 10_100, 10_200, 10_500]) await admit(AT + at);
    await accounts.recordRejections(PRESENTED, 18, AT + 10_500);
    await vi.advanceTimersByTimeAsync(900);
    const { rejections = {} } = (await accounts.find("acme")) ?? {};
    expect(rejections[KEY.id]).toMatchObject({ count: 22, bannedUntil: AT + 10_500 + 15 * MINUTE_MS });
  });

  test("are reported within a second, by one timer for all keys that keeps no process alive and ends with them", async () => {
    const { accounts, keys } = await createKeys();
    const burst = async (cached: AccountStore, count: number) => {
      for (const { hash } of keys)
        for (let sent = 0; sent < count; sent++) await cached.admit({ accountId: "acme", hash }, AT);
    };
    vi.useRealTimers();
    const timers = () => process.getActiveResourcesInfo().filter((type) => type === "Timeout").length;
    const before = timers();
    await burst(withRejectionCache(accounts), 4);
    expect(timers()).toBe(before);
    vi.useFakeTimers({ now: AT });
    const virtual = withRejectionCache(accounts);
    await virtual.admit({ accountId: "acme", hash: "0" }, AT);
    await burst(virtual, 3);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(vi.getTimerCount()).toBe(0);
    const { rejections = {} } = (await accounts.find("acme")) ?? {};
    expect(keys.map(({ id }) => rejections[id]?.count).slice(1)).toEqual(Array(19).fill(4));
  });

  test("are reported by a request or by the timer, and never by both", async () => {
    const { accounts, keys } = await createKeys();
    const reports: (readonly [hash: string, count: number])[] = [];
    const cached = withRejectionCache({
      ...accounts,
      async recordRejections({ hash }, count) {
        reports.push([hash, count]);
        if (hash !== "19") await new Promise((resolve) => setTimeout(resolve, 100));
      },
    });
    const admit = (hash: string, at: number) => cached.admit({ accountId: "acme", hash }, at);
    await admit("0", AT);
    for (const { hash } of keys) for (let sent = 0; sent < 2; sent++) await admit(hash, AT);
    await vi.advanceTimersByTimeAsync(900);
    expect(reports).toHaveLength(16);
    await admit("19", AT + 2_000);
    await vi.advanceTimersByTimeAsync(1_000);
    const expected = keys.map(({ hash }) => [hash, 1]);
    expect(reports.toSorted(([one], [other]) => Number(one) - Number(other))).toEqual(expected);
  });

  test("are dropped if the store never answers their report, and later ones are reported", async () => {
    const { rejections, send, state } = await createCacheFixture();
    state.isSilent = true;
    await send(4, AT, 0);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await rejections(), "the one that the store decided").toBe(1);
    state.isSilent = false;
    await vi.advanceTimersByTimeAsync(MAX_STORE_CALL_MS);
    expect(await rejections()).toBe(1);
    await send(3, AT + 10, 0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejections()).toBe(4);
  });

  test("are reported once, also if the store cannot be reached then", async () => {
    const { state, rejections, calls, send } = await createCacheFixture();
    await send(4, AT, 0);
    state.isDown = true;
    const before = calls();
    await vi.advanceTimersByTimeAsync(5_000);
    expect([calls() - before, vi.getTimerCount()]).toEqual([1, 0]);
    state.isDown = false;
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(await rejections(), "the one that the store decided").toBe(1);
  });

  test("are counted in the minute in which they were rejected, and not in the next one", async () => {
    const { accounts, rejections, send } = await createCacheFixture();
    await send(5, MINUTE + MINUTE_MS - 10, 0);
    expect(await accounts.admit(PRESENTED, AT + MINUTE_MS)).toMatchObject({ ok: true });
    await vi.advanceTimersByTimeAsync(1_000);
    await accounts.admit(PRESENTED, AT + MINUTE_MS);
    expect(await rejections(), "the first of the next minute").toBe(0);
  });

  test("are not lost when the response to an earlier admission arrives late", async () => {
    const customLimits = { perMinute: 12, perDay: 100 };
    const { countRejections, hold } = await createCacheFixture({ ...SETTINGS, customLimits });
    const first = await hold(12);
    expect(await countRejections()).toBe(20);
    expect(new Set(await Promise.all(first))).toEqual(new Set(["admitted"]));
  });
});

describe("while the responses of the store are late", () => {
  test("rejections from memory are not lost when those of the store arrive", async () => {
    const { accounts, countRejections, waiting, hold } = await createCacheFixture();
    await accounts.admit(PRESENTED, AT);
    const first = await hold(12);
    expect(await countRejections()).toBe(20 - 12);
    for (const respond of waiting) respond();
    expect(new Set(await Promise.all(first))).toEqual(new Set(["rate_limit_exceeded"]));
  });

  test("the store decides after a report that failed, whose rejections do not count", async () => {
    const { accounts, admit, calls, countRejections, state, waiting, hold } = await createCacheFixture();
    await accounts.admit(PRESENTED, AT);
    const first = await hold(2);
    waiting.pop()?.();
    await nextTurn();
    for (let sent = 0; sent < 4; sent++) expect(await admit(AT)).toBe("rate_limit_exceeded");
    state.rejectsReports = true;
    await expect(admit(AT)).rejects.toThrow(StoreUnavailableError);
    state.rejectsReports = false;
    const before = calls();
    expect(await admit(AT)).toBe("rate_limit_exceeded");
    expect(calls() - before).toBe(1);
    waiting.pop()?.();
    await Promise.all(first);
    expect(await countRejections()).toBe(20 - 2 - 1);
  });

  test("a response of an earlier minute does not replace a rejection of the present one", async () => {
    const { accounts, admit, state, waiting, hold } = await createCacheFixture();
    await accounts.admit(PRESENTED, AT);
    const [earlier] = await hold(1);
    const next = AT + MINUTE_MS;
    expect([await admit(next), await admit(next), await admit(next)]).toEqual([
      "admitted",
      "rate_limit_exceeded",
      "rate_limit_exceeded",
    ]);
    waiting.pop()?.();
    expect(await earlier).toBe("rate_limit_exceeded");
    state.holds = true;
    expect(await admit(next + 1), "from memory").toBe("rate_limit_exceeded");
    expect(waiting).toEqual([]);
  });

  test("the requests of a key that is admitted again do not wait for each other", async () => {
    const { accounts, admit, waiting, hold } = await createCacheFixture();
    expect([await admit(AT), await admit(AT)]).toEqual(["admitted", "rate_limit_exceeded"]);
    await accounts.update("acme", ({ id, keys }) => ({ ok: true, account: { id, keys, plan: "free" } }));
    expect(await admit(AT + MINUTE_MS)).toBe("admitted");
    const requests = await hold(5, AT + MINUTE_MS);
    for (const respond of waiting) respond();
    expect(new Set(await Promise.all(requests))).toEqual(new Set(["admitted"]));
  });
});

test("the cache never changes the outcome of a request, over any history of calls through it", async () => {
  const step = fc.record({
    after: fc.constantFrom(0, 0, 0, 1, 300, 999, 1_000, 20_000, MINUTE_MS, -10 * MINUTE_MS),
    operation: fc.oneof(
      { weight: 7, arbitrary: fc.constant("admit" as const) },
      fc.constantFrom("unban", "plan", "reset", "delete"),
    ),
  });
  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
  const replay = async (accounts: AccountStore, steps: readonly Step[]) => {
    await accounts.create(SETTINGS);
    const outcomes: unknown[] = [];
    let [at, perMinute] = [AT, 1];
    const operations = {
      admit: () => accounts.admit(PRESENTED, at, { maxRejections: 4, durationMs: 2 * MINUTE_MS }),
      unban: () => accounts.unban("acme", KEY.id),
      reset: () => accounts.resetUsage("acme"),
      plan: () =>
        accounts.update("acme", (account) => {
          perMinute = 3 - perMinute;
          return { ok: true, account: { ...account, customLimits: { perMinute, perDay: 100 } } };
        }),
      delete: async () => [await accounts.delete("acme"), await accounts.create(SETTINGS)],
    };
    for (const { after, operation } of steps) {
      at += after;
      const outcome = await operations[operation]();
      // The count in a rejection from memory is that of the store's last answer.
      if (operation === "admit") outcomes.push({ ...(outcome as Admission), rejections: undefined });
    }
    return outcomes;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
      const outcomes = await replay(withRejectionCache(createMemoryStore().accounts), steps);
      expect(outcomes).toEqual(await replay(createMemoryStore().accounts, steps));
    }),
    { numRuns: 200 },
  );
});

test("the rejections of keys beyond the first 10,000 are not cached", async () => {
  let calls = 0;
  const rejection: Rejection = {
    ok: false,
    code: "rate_limit_exceeded",
    caller: { accountId: "acme", keyId: KEY.id, plan: "free" },
    quota: { limit: 1, remaining: 0, resetsAt: AT + MINUTE_MS },
    ...{ retryAfterSeconds: 60, rejections: { windowStart: AT, count: 1 }, startsBan: false },
  };
  const rejecting: AccountStore = {
    ...createMemoryStore().accounts,
    admit: async () => {
      calls++;
      return rejection;
    },
    recordRejections: async () => {},
  };
  const cached = withRejectionCache(rejecting);
  const flood = async (at: number, from = 0) => {
    calls = 0;
    for (let key = from; key < from + 10_100; key++)
      await cached.admit({ accountId: "acme", hash: `${key}` }, at);
    return calls;
  };
  expect(await flood(AT)).toBe(10_100);
  expect(await flood(AT + 1)).toBe(100);
  expect(await flood(AT + 1_500)).toBe(10_100);
  expect(await flood(AT + 3_000, 50_000), "other keys, in place of those that are out of date").toBe(10_100);
  expect(await flood(AT + 3_001, 50_000)).toBe(100);
});
