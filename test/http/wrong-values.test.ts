import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";
import { createHandlerFixture, NOON } from "./fixture.ts";

// Each value that a store's `admit` can return, though its type forbids it: none admits a request or is silent.

beforeEach(() => void vi.useFakeTimers({ now: NOON, toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const fail = () => {
  throw new Error("fault");
};
/** Fails when it is awaited. */
const hostileThenable = {
  // biome-ignore lint/suspicious/noThenProperty: this is what the test is about
  get then() {
    return fail();
  },
};
/** Fails when any of its fields is read. */
const hostile = new Proxy({}, { get: (_target, key) => (key === "then" ? undefined : fail()) });

/** What a request gets, in one line, and if its event has an error. */
async function outcomeOf(options: NonNullable<Parameters<typeof createHandlerFixture>[0]>): Promise<string> {
  const { send, events } = await createHandlerFixture(options);
  let outcome: string | undefined;
  void send("GET", "/v1/store/orders").then(({ status, text }) => {
    outcome = `${status} ${JSON.parse(text).code ?? "a list"}`;
  });
  for (let second = 0; second < 30 && outcome === undefined; second++) {
    for (let turn = 0; turn < 20 && outcome === undefined; turn++) await new Promise(setImmediate);
    if (outcome === undefined) await vi.advanceTimersByTimeAsync(1_000);
  }
  if (outcome === undefined) return "hangs";
  return events.at(-1)?.error === undefined ? outcome : `${outcome}, told: the event`;
}

const QUOTA = { limit: 60, remaining: 59, resetsAt: NOON + 60_000 };
const CALLER = { accountId: "shop", keyId: "shop.key", plan: "free" };
const decides = (changed: object) => async () => ({ ok: true, caller: CALLER, quota: QUOTA, ...changed });

const VALUES: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  "a string": () => "x",
  "a number": () => 5,
  true: () => true,
  "a function": () => () => {},
  "an empty object": () => ({}),
  "an array": () => [],
  throws: fail,
  rejects: async () => fail(),
  "never settles": () => new Promise(() => {}),
  "a thenable that throws": () => hostileThenable,
  "an object whose fields throw": () => hostile,
  "an admission": decides({}),
  "an admission of nobody": decides({ caller: undefined }),
  "an admission of another account": decides({ caller: { ...CALLER, accountId: "other" } }),
  "an admission of no key": decides({ caller: { accountId: "shop" } }),
  "an admission without a quota": decides({ quota: undefined }),
  "an admission with a quota that is no number": decides({ quota: { ...QUOTA, remaining: Number.NaN } }),
  "an admission in other words": decides({ ok: "yes" }),
  "an admission as a number": decides({ ok: 1 }),
  "a rejection without a code": decides({ ok: false }),
  "a rejection with another code": decides({ ok: false, code: "order_not_found", retryAfterSeconds: 1 }),
  "a rejection without a time": decides({
    ...{ ok: false, code: "api_key_banned", rejections: { windowStart: NOON, count: 1 } },
  }),
  "a rejection": decides({
    ...{ ok: false, code: "api_key_banned", retryAfterSeconds: 5 },
    quota: { ...QUOTA, remaining: 0, resetsAt: NOON + 5_000 },
    rejections: { windowStart: NOON, count: 30, bannedUntil: NOON + 5_000 },
  }),
  "an invalid key": async () => ({ ok: false, code: "invalid_api_key", reason: "unknown_key" }),
};
const OTHERWISE = "500 internal_error, told: the event";
const EXPECTED: Readonly<Record<string, string>> = {
  "an admission": "200 a list",
  "a rejection": "429 api_key_banned",
  "an invalid key": "401 invalid_api_key",
  // A store has to settle within five seconds: the contract says so. Nobody is admitted meanwhile.
  "never settles": "hangs",
};

test.each(Object.entries(VALUES))("admit() that returns %s admits nobody else", async (name, value) => {
  for (const cacheRejections of [true, false]) {
    const store = createMemoryStore();
    store.accounts.admit = value as Store["accounts"]["admit"];
    expect(await outcomeOf({ store, cacheRejections })).toBe(EXPECTED[name] ?? OTHERWISE);
    expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(0);
  }
});
