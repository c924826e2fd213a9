import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { HandlerOptions } from "../../lib/http/options.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";
import { createHandlerFixture, NOON } from "./fixture.ts";

/*
 * What the handler does with each value that a store's `admit` can return, though its type forbids it: none admits a
 * request or is silent. And with what hooks return, which nobody reads.
 */

const { error: writeLine } = console;
let lines: string[] = [];
beforeEach(() => {
  vi.useFakeTimers({ now: NOON, toFake: ["setTimeout", "clearTimeout"] });
  lines = [];
  console.error = (line: string) => void lines.push(line);
});
afterEach(() => {
  vi.useRealTimers();
  console.error = writeLine;
});

const fail = () => {
  throw new Error("fault");
};
const never = () => new Promise(() => {});
/** Fails when it is awaited. */
const hostileThenable = {
  // biome-ignore lint/suspicious/noThenProperty: this is what the test is about
  get then() {
    return fail();
  },
};
/** Fails when any of its fields is read. */
const hostile = new Proxy({}, { get: (_target, key) => (key === "then" ? undefined : fail()) });

/** Values that no port returns, by name. `throws` and the like are what happens instead. */
const ANYTHING: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  "a string": () => "x",
  "an empty string": () => "",
  "a number": () => 5,
  true: () => true,
  false: () => false,
  "a function": () => () => {},
  "an empty object": () => ({}),
  "an array": () => [],
  throws: fail,
  rejects: async () => fail(),
  "never settles": never,
  "a thenable that throws": () => hostileThenable,
  "an object whose fields throw": () => hostile,
};

type Ports = Omit<Partial<HandlerOptions>, "store">;

/** What a request gets, in one line, and who learns of the error. */
async function outcomeOf(
  options: Ports & { readonly store?: Store },
  method = "GET",
  path = "/v1/store/orders",
): Promise<string> {
  const reported: string[] = [];
  const onHookError = (_error: unknown, hook: string) => void reported.push(hook);
  const { send, events } = await createHandlerFixture({ onHookError, ...options });
  let outcome: string | undefined;
  const sending = send(method, path).then(
    ({ status, headers, text }) => {
      const isJson = headers.get("content-type") === "application/json";
      outcome = `${status} ${isJson ? describeJson(text) : text || "without a body"}`;
    },
    (error) => {
      outcome = `cut off: ${error.message}`;
    },
  );
  for (let second = 0; second < 30 && outcome === undefined; second++) {
    for (let turn = 0; turn < 20 && outcome === undefined; turn++) await new Promise(setImmediate);
    if (outcome === undefined) await vi.advanceTimersByTimeAsync(1_000);
  }
  if (outcome === undefined) return "hangs";
  await sending;
  await new Promise(setImmediate);
  const hasError = events.at(-1)?.error !== undefined;
  const who = [...(hasError ? ["the event"] : []), ...reported, ...lines];
  return who.length === 0 ? outcome : `${outcome}, told: ${who.join(" and ")}`;
}

function describeJson(text: string): string {
  try {
    const parsed = JSON.parse(text);
    return parsed.code ?? (Array.isArray(parsed) ? `a list of ${parsed.length}` : text);
  } catch {
    return `invalid JSON: ${text || "nothing"}`;
  }
}

const LIST = "200 a list of 4";
const FAILED = "500 internal_error, told: the event";

/** The outcome for each value of `ANYTHING`, and for further ones. */
type Expected = Readonly<Record<string, string>>;

function testPort(
  port: string,
  values: Readonly<Record<string, () => unknown>>,
  expected: { readonly otherwise: string } & Expected,
  observe: (value: () => unknown) => Promise<string>,
): void {
  describe(port, () => {
    test.each(Object.entries({ ...ANYTHING, ...values }))("%s", async (name, value) => {
      expect(await observe(value)).toBe(expected[name] ?? expected.otherwise);
    });
  });
}

const asPort = <Name extends keyof HandlerOptions>(name: Name, value: unknown) =>
  ({ [name]: value }) as Ports;

testPort(
  "what onRequest returns is not read, but for its failure",
  {},
  {
    otherwise: LIST,
    throws: `${LIST}, told: onRequest`,
    rejects: `${LIST}, told: onRequest`,
    "a thenable that throws": `${LIST}, told: onRequest`,
  },
  (value) => outcomeOf(asPort("onRequest", value)),
);

testPort(
  "what onTransition returns is waited for and not read, but for its failure",
  {
    "changes the order": (...args) => {
      const [{ order }] = args as unknown as [{ order: { status: string; record: object } }];
      order.status = "pending";
      Object.assign(order.record, { petId: 666n });
      return order;
    },
  },
  {
    otherwise: "204 without a body, cancelled",
    throws: "204 without a body, told: onTransition, cancelled",
    rejects: "204 without a body, told: onTransition, cancelled",
    "a thenable that throws": "204 without a body, told: onTransition, cancelled",
    "never settles": "204 without a body, told: onTransition, cancelled",
  },
  async (value) => {
    const store = createMemoryStore();
    const outcome = await outcomeOf(
      { ...asPort("onTransition", value), store },
      "DELETE",
      "/v1/store/orders/1",
    );
    const { record, status } = (await store.orders.find(1n)) ?? expect.fail();
    expect(record).toEqual({ id: 1n, petId: 7n, quantity: 2 });
    return `${outcome}, ${status}`;
  },
);

testPort(
  "an error that onHookError does not take is written to the console",
  {},
  {
    otherwise: "204 without a body",
    throws: "204 without a body, told: store-orders: onTransition failed: fault",
    rejects: "204 without a body, told: store-orders: onTransition failed: fault",
    "a thenable that throws": "204 without a body, told: store-orders: onTransition failed: fault",
  },
  (value) =>
    outcomeOf({ ...asPort("onHookError", value), onTransition: fail }, "DELETE", "/v1/store/orders/1"),
);

const QUOTA = { limit: 60, remaining: 59, resetsAt: NOON + 60_000 };
const CALLER = { accountId: "shop", keyId: "shop.key", plan: "free" };
/** A decision about the account of the key, changed. */
const decides = (changed: object) => async () => ({ ok: true, caller: CALLER, quota: QUOTA, ...changed });

testPort(
  "accounts.admit() is a decision about the account of the key",
  {
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
      rejections: { windowStart: NOON, count: 30, bannedUntil: NOON + 5_000 },
    }),
    "an invalid key": async () => ({ ok: false, code: "invalid_api_key", reason: "unknown_key" }),
  },
  {
    otherwise: FAILED,
    "an admission": LIST,
    "a rejection": "429 api_key_banned",
    "an invalid key": "401 invalid_api_key",
    // A store has to settle within five seconds: the contract says so. Nobody is admitted meanwhile.
    "never settles": "hangs",
  },
  async (value) => {
    const outcomes: string[] = [];
    for (const cacheRejections of [true, false]) {
      const store = createMemoryStore();
      store.accounts.admit = value as Store["accounts"]["admit"];
      outcomes.push(await outcomeOf({ store, cacheRejections }));
      expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(0);
    }
    expect(outcomes[1]).toBe(outcomes[0]);
    return `${outcomes[0]}`;
  },
);

const NOT_READY = "503 store_unavailable, told: the event";
testPort(
  "check() rejects if the store cannot serve",
  {},
  {
    otherwise: '200 {"status":"ok"}',
    throws: NOT_READY,
    rejects: NOT_READY,
    "never settles": NOT_READY,
    "a thenable that throws": NOT_READY,
  },
  async (value) =>
    outcomeOf({ store: { ...createMemoryStore(), check: value as Store["check"] } }, "GET", "/readyz"),
);
