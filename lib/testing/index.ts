/**
 * A service for tests: the real handler and client over a store in memory, with a clock that the test advances. No server,
 * no sleep. See lib/README.md#tests-of-your-program.
 *
 * @module store-orders/testing
 */
import type { AccountStore } from "../accounts/account-store.ts";
import { type Accounts, createAccounts } from "../accounts/accounts.ts";
import { DEFAULT_BAN_POLICY } from "../accounts/admission.ts";
import { accountIdOf, digestKey } from "../accounts/api-key.ts";
import { type Client, createClient } from "../client/client.ts";
import type { Fetch } from "../client/options.ts";
import { assertOptions, StoreUnavailableError } from "../core/errors.ts";
import { assertInstant, type Instant } from "../core/time.ts";
import { createHandler } from "../http/handler.ts";
import type { Handler, HandlerOptions } from "../http/options.ts";
import { discardBody, isTextReader } from "../http/reply.ts";
import type { PlainResponse } from "../http/response.ts";
import { createOrders, type Orders } from "../orders/orders.ts";
import { PLAN_LIMITS, type PlanAssignment, type PlanTable } from "../plans/plan-limits.ts";
import { createMemoryStore, type Store } from "../stores/memory.ts";

export type { Accounts } from "../accounts/accounts.ts";
export type { Client } from "../client/client.ts";
export type { Handler } from "../http/options.ts";
export type { Orders } from "../orders/orders.ts";
export type { Store } from "../stores/memory.ts";

/** Options of `createTestService`. */
export interface TestServiceOptions {
  /** The plan of the account, one of `handler.plans` if these are given. With its limits if it is custom. @default "free" */
  readonly plan?: string | PlanAssignment<string>;
  /** The time at which the clock starts, in milliseconds. @default the beginning of 1 January 2030, UTC */
  readonly now?: Instant;
  /** Further options of the handler, such as `onTransition` or `operations`. */
  readonly handler?: Omit<Partial<HandlerOptions>, "store" | "clock">;
}

/** A service with one account and one key. */
export interface TestService {
  /** The base URL, for a client of your own. Nothing listens there: use `fetch` below. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly handler: Handler;
  readonly store: Store;
  /** The use cases for accounts. The account of the key is `test`. */
  readonly accounts: Accounts<string>;
  readonly orders: Orders;
  /** A client whose waits advance the clock instead of taking time. */
  readonly client: Client;
  /** The `fetch` of a client or of a page, also below `baseUrl`. Sends the key unless there is an `authorization`. */
  readonly fetch: typeof globalThis.fetch;
  now(): Instant;
  advance(ms: number): void;
  /** Makes the next request through `fetch` fail: with 503, 500 or no response. Called twice, the next two fail. */
  failNext(error: TestFailure): void;
  /** Uses up the minute of the account: its next request gets 429. */
  exhaust(): Promise<void>;
  ban(): Promise<void>;
}

/** A failure that `failNext` causes. */
export type TestFailure = "store_unavailable" | "internal_error" | "network";

const BASE_URL = "http://orders.test/v1";
const ACCOUNT = "test";

/** Creates a service with an account, a key and no orders. Rejects with `InvalidInputError` if an option is invalid. */
export async function createTestService(options: TestServiceOptions = {}): Promise<TestService> {
  assertOptions(options, ["plan", "now", "handler"]);
  const { plan = "free", now: start = Date.UTC(2030, 0), handler: handlerOptions = {} } = options;
  assertGlobals(["TextEncoder", "TextDecoder", "crypto.subtle"]);
  let now = assertInstant(start, "now");
  const clock = () => now;
  const advance = (ms: number) => {
    // A wait of the client has a fraction.
    now = assertInstant(now + Math.ceil(ms), "ms");
  };
  const store = createMemoryStore();
  const { plans = PLAN_LIMITS, banPolicy = DEFAULT_BAN_POLICY } = handlerOptions;
  const accounts = createAccounts<PlanTable>({ store: store.accounts, environment: "test", clock, plans });
  const created = await accounts.create(ACCOUNT, typeof plan === "string" ? { plan } : plan);
  const issued = created.ok ? await accounts.issueKey(ACCOUNT) : created;
  if (!issued.ok) throw new Error(`The account cannot be created: ${issued.code}.`);
  const apiKey = issued.key;
  const parsedKey = { accountId: accountIdOf(apiKey) ?? ACCOUNT, hash: await digestKey(apiKey) };
  const failures: TestFailure[] = [];

  const admit: AccountStore["admit"] = async (...args) => {
    const failure = failures.shift();
    if (failure === "store_unavailable") throw new StoreUnavailableError("The test has failed this request.");
    if (failure !== undefined) throw new Error("The test has failed this request.");
    return store.accounts.admit(...args);
  };

  // Nothing is cached for a second that a test would have to wait for.
  const handler = createHandler({
    cacheRejections: false,
    ...handlerOptions,
    store: { ...store, accounts: { ...store.accounts, admit } },
    clock,
  });

  function failNetwork(): void {
    if (failures[0] !== "network") return;
    failures.shift();
    throw new TypeError("fetch failed");
  }

  const fetch: typeof globalThis.fetch = async (input, init) => {
    failNetwork();
    assertGlobals(["Request", "Response", "ReadableStream"]);
    const url = typeof input === "string" && input.startsWith("/") ? `${BASE_URL}${input}` : input;
    const request = new Request(url, init);
    if (!request.headers.has("authorization")) request.headers.set("authorization", `Bearer ${apiKey}`);
    return handler(request);
  };

  /** The `fetch` of the client, which needs none of the environment, and no `Request` or `Response`. */
  const answer: Fetch = async (url, { method = "GET", headers }) => {
    failNetwork();
    const fields = headers as Readonly<Record<string, string>>;
    const head = { method, url, headers: { get: (name: string) => fields[name] ?? null } };
    const { respond = handler } = handler;
    const response: PlainResponse | Response = await respond(head as Request);
    return toClientResponse(response as PlainResponse);
  };

  async function exhaust(): Promise<void> {
    while ((await store.accounts.admit(parsedKey, now, { ...banPolicy, plans })).ok);
  }

  return {
    baseUrl: BASE_URL,
    apiKey,
    handler,
    store,
    accounts,
    orders: createOrders({ store: store.orders, clock }),
    client: createClient({
      baseUrl: BASE_URL,
      apiKey,
      fetch: answer,
      clock,
      sleep: async (ms) => advance(ms),
    }),
    fetch,
    now: clock,
    advance,
    failNext: (error) => void failures.push(error),
    exhaust,
    ban: () => store.accounts.recordRejections(parsedKey, banPolicy.maxRejections + 1, now, banPolicy),
  };
}

function assertGlobals(names: readonly string[]): void {
  const find = (name: string) => name.split(".").reduce((value, key) => Object(value)[key], globalThis);
  const missing = names.filter((name) => find(name) === undefined);
  if (missing.length > 0)
    throw new Error(
      `The test environment has no ${missing.join(", no ")}. Use that of Node, or set them up; see lib/README.md#tests-of-your-program.`,
    );
}

function toClientResponse({ status, headers, body }: PlainResponse): Response {
  const chunks = chunksOf(body);
  const reader = { read: () => chunks.next(), cancel: () => chunks.return(undefined) };
  const fields = { get: (name: string) => headers[name] ?? null, has: (name: string) => name in headers };
  const response: object = {
    status,
    headers: fields,
    body: { getReader: () => reader, cancel: reader.cancel },
  };
  return response as Response;
}

async function* chunksOf(body: PlainResponse["body"]): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  try {
    if (typeof body === "string") yield encoder.encode(body);
    else if (body !== null && isTextReader(body))
      for (let part = await body.read(); !part.done; part = await body.read())
        yield encoder.encode(part.value.join(""));
    else if (body !== null) yield* "getReader" in body ? body : [body];
  } finally {
    if (body !== null) await discardBody(body);
  }
}
