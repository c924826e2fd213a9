import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { HandlerOptions } from "../../lib/http/options.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";
import { createHandlerFixture, NOON } from "./fixture.ts";

/*
 * What the handler does with each value that code of the embedder can return, though its type forbids it. No such value
 * admits a request, none is silent (the event of the request has an error, or `onHookError` gets it), and no response
 * with an empty body says that it is JSON.
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
const LATE = "503 store_unavailable, told: the event";

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
  "pets() is a pet or nothing",
  {
    "a pet": async () => ({ id: 7n }),
    "a pet without a promise": () => ({ id: 7n }),
    "a date": async () => new Date(0),
    "a pet that is no JSON": async () => ({ toJSON: () => undefined }),
  },
  {
    otherwise: FAILED,
    undefined: "404 pet_not_found",
    null: "404 pet_not_found",
    "a pet": '200 {"id":7}',
    "a pet without a promise": '200 {"id":7}',
    "an empty object": "200 {}",
    "never settles": LATE,
  },
  (value) => outcomeOf(asPort("pets", value), "GET", "/v1/pets/7"),
);

const hostTable = (route: () => unknown) => () => ({ customHosts: new Set(), route });
testPort(
  "hosts() is a table",
  { "a promise of one": async () => hostTable(() => ({ action: "serve" }))() },
  { otherwise: FAILED },
  (value) => outcomeOf(asPort("hosts", value)),
);

testPort(
  "a route of a table of hosts is one of three",
  {
    "to serve": () => ({ action: "serve" }),
    "to redirect": () => ({ action: "redirect", status: 301, location: "https://a.example/" }),
    "to serve, later": async () => ({ action: "serve" }),
    "an unknown action": () => ({ action: "admit" }),
    "a redirect without a location": () => ({ action: "redirect", status: 301 }),
    "a redirect with another status": () => ({
      action: "redirect",
      status: 200,
      location: "https://a.example/",
    }),
    "a redirect with a line break": () => ({
      action: "redirect",
      status: 301,
      location: "https://a.example/\r\nb: c",
    }),
  },
  {
    otherwise: FAILED,
    "to serve": LIST,
    "to serve, later": LIST,
    "never settles": LATE,
    "to redirect": "301 Moved permanently to https://a.example/\n",
  },
  (value) => outcomeOf(asPort("hosts", hostTable(value))),
);

/** Each time that it is read, the status is another one. */
function alternating() {
  let reads = 0;
  return {
    body: "{}",
    get status() {
      return reads++ === 0 ? 200 : 999;
    },
  };
}

/** Replies that are none, or at their edge: of documents, and of operations. */
const REPLIES: Readonly<Record<string, () => unknown>> = {
  "a reply": async () => ({ status: 200, body: "{}" }),
  "a reply without a promise": () => ({ status: 200, body: "{}" }),
  "no body": async () => ({ status: 200 }),
  "an empty body": async () => ({ status: 200, body: "" }),
  "empty bytes": async () => ({ status: 200, body: new Uint8Array() }),
  "an empty text": async () => ({ status: 200, body: "", headers: { "Content-Type": "text/plain" } }),
  "an empty body that is said to be JSON": async () => ({
    status: 200,
    body: "",
    headers: { "content-type": "Application/JSON; charset=utf-8" },
  }),
  "an object as body": async () => ({ status: 200, body: {} }),
  "an unknown status": async () => ({ status: 999 }),
  "an unknown error": async () => ({ error: "gone" }),
  "an inherited error": async () => ({ error: "toString" }),
  "an error with an empty body": async () => ({ error: "gone", status: 404, body: "" }),
  "a known error": async () => ({ error: "route_not_found" }),
  "a known error with an object as body": async () => ({ error: "order_not_found", status: 404, body: {} }),
  "a known error with the status of a success": async () => ({
    error: "order_not_found",
    status: 200,
    body: "{}",
  }),
  "a known error with an unknown status": async () => ({ error: "order_not_found", status: 20 }),
  "a header with a line break": async () => ({ status: 200, body: "{}", headers: { "x-a": "a\r\nb: c" } }),
  "a header without a value": async () => ({ status: 200, body: "{}", headers: { "x-a": undefined } }),
  "a header with a number": async () => ({ status: 200, body: "{}", headers: { "x-a": 5 } }),
  "another status each time": async () => alternating(),
  "an end that never comes": async () => ({ status: 200, body: "{}", ended: never() }),
  "an end without a status": async () => ({ status: 200, body: "{}", ended: Promise.resolve() }),
  "an end that throws": async () => ({ status: 200, body: "{}", ended: hostileThenable }),
};

const OF_REPLIES: { readonly otherwise: string } & Expected = {
  otherwise: FAILED,
  "a reply": "200 {}",
  "a reply without a promise": "200 {}",
  "no body": "200 without a body",
  "an empty text": "200 without a body",
  "a known error": "404 route_not_found",
  "a header with a number": "200 {}",
  "another status each time": "200 {}",
  "an end that never comes": "200 {}",
  "an end without a status": "200 {}, told: the event",
  "an end that throws": "200 {}, told: the event",
};

testPort(
  "documents() is a reply or nothing",
  REPLIES,
  { ...OF_REPLIES, undefined: LIST, null: LIST, "never settles": LATE },
  (value) => outcomeOf(asPort("documents", value)),
);

testPort(
  "an operation that was not made by defineOperation returns a reply",
  REPLIES,
  { ...OF_REPLIES, "never settles": "hangs" },
  (value) => {
    const operation = {
      ...{ id: "own", method: "GET", path: "/own", tag: "own", summary: "Own", description: "Own." },
      ...{ success: { status: 200, description: "Yes." }, errors: [], handle: value },
    };
    return outcomeOf(asPort("operations", [operation]), "GET", "/v1/own");
  },
);

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

const ORDER = { record: { id: 1n }, status: "cancelled" };
testPort(
  "orders.apply() is the result of the event",
  {
    "a cancelled order": async () => ({ ok: true, order: ORDER }),
    "an order that is pending": async () => ({ ok: true, order: { ...ORDER, status: "pending" } }),
    "no order": async () => ({ ok: true }),
    "success in other words": async () => ({ ok: "yes", order: ORDER }),
    "a failure without a code": async () => ({ ok: false }),
    "a failure with an unknown code": async () => ({ ok: false, code: "gone" }),
    "a failure with an inherited code": async () => ({ ok: false, code: "toString" }),
    "a failure": async () => ({ ok: false, code: "order_not_found" }),
  },
  {
    otherwise: FAILED,
    "a cancelled order": "204 without a body",
    "a failure": "404 order_not_found",
    "never settles": "hangs",
  },
  async (value) => {
    const store = createMemoryStore();
    store.orders.apply = value as Store["orders"]["apply"];
    return outcomeOf({ store }, "DELETE", "/v1/store/orders/1");
  },
);

const pages = (...values: readonly unknown[]) =>
  async function* () {
    yield* values;
  };
testPort(
  "orders.list() is pages of JSON",
  {
    "a page": pages({ json: '{"id":1}', last: true }),
    "no page": pages(),
    "a page that is undefined": pages(undefined),
    "a page that is null": pages(null),
    "a page without text": pages({ last: true }),
    "a page with a number": pages({ json: 5, last: true }),
    "a page of records": pages({ json: [{ id: 1 }], last: true }),
    "a second page that is undefined": pages({ json: '{"id":1}', last: false }, undefined),
    "a second page with a number": pages({ json: '{"id":1}', last: false }, { json: 5, last: true }),
    "a first page without text, and a second": pages(
      { json: "", last: false },
      { json: undefined, last: true },
    ),
  },
  {
    otherwise: FAILED,
    "a page": "200 a list of 1",
    "no page": "200 a list of 0",
    "a second page that is undefined": "cut off, told: the event",
    "a second page with a number": "cut off, told: the event",
    "never settles": FAILED,
  },
  async (value) => {
    const store = createMemoryStore();
    store.orders.list = value as Store["orders"]["list"];
    return (await outcomeOf({ store })).replace(/cut off: [^,]*/, "cut off");
  },
);

const NOT_READY = "503 store_unavailable, told: the event";
testPort(
  "check() rejects if the store cannot serve",
  {},
  {
    otherwise: '200 {"status":"ok"}',
    false: NOT_READY,
    throws: NOT_READY,
    rejects: NOT_READY,
    "never settles": NOT_READY,
    "a thenable that throws": NOT_READY,
  },
  async (value) =>
    outcomeOf({ store: { ...createMemoryStore(), check: value as Store["check"] } }, "GET", "/readyz"),
);

test("without onRequest, onHookError learns of what a wrong value has caused", async () => {
  const reported: unknown[] = [];
  const { handler } = await createHandlerFixture({
    ...asPort("documents", () => 5),
    ...asPort("onRequest", undefined),
    onHookError: (error, hook) => reported.push([hook, String(error)]),
  });
  expect((await handler(new Request("http://localhost/x"))).status).toBe(500);
  expect(reported).toEqual([["handler", expect.stringContaining("documents() returned what is no reply")]]);
});
