import { assert, expect } from "vitest";
import { createAccounts, type IssuedKey } from "../../lib/accounts/accounts.ts";
import { ERRORS } from "../../lib/http/errors.ts";
import { createHandler } from "../../lib/http/handler.ts";
import type { HandlerOptions } from "../../lib/http/options.ts";
import type { TextReader } from "../../lib/http/reply.ts";
import type { RequestContext } from "../../lib/http/request.ts";
import type { RequestEvent } from "../../lib/http/request-event.ts";
import type { StoredOrder } from "../../lib/orders/lifecycle.ts";
import type { PlanAssignment } from "../../lib/plans/plan-limits.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";

export const NOON = Date.UTC(2026, 10, 20, 12);
export const MAX = 9223372036854775807n;

const ORDERS: readonly StoredOrder[] = [
  { record: { id: 1n, petId: 7n, quantity: 2 }, status: "pending" },
  { record: { id: 2n, shipDate: "2026-11-01T00:00:00Z", complete: true }, status: "shipped" },
  { record: { id: 3n }, status: "cancelled" },
  { record: { id: MAX, petId: -1n }, status: "pending" },
];

/** A handler over a memory store with four orders, one account and one key, and a clock that stands still. */
export async function createHandlerFixture(
  options: Partial<HandlerOptions> & Partial<PlanAssignment> & { store?: Store } = {},
) {
  const { plan = "free", customLimits, store = createMemoryStore(), ...rest } = options;
  const time = { now: NOON };
  const clock = () => time.now;
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock });
  await accounts.create("shop", { plan, ...(customLimits && { customLimits }) });
  const issued = async () => (await accounts.issueKey("shop")) as IssuedKey;
  const { key, keyId } = await issued();
  await store.orders.place(ORDERS);
  const events: RequestEvent[] = [];
  const handler = createHandler({ store, clock, onRequest: (event) => events.push(event), ...rest });

  async function send(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    context?: RequestContext,
    body?: RequestInit["body"],
  ) {
    const request = new Request(`http://localhost${path}`, {
      ...{ method, body: body ?? null, duplex: "half" },
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    const response = await handler(request, { address: "192.0.2.1", ...context });
    const answer = { status: response.status, headers: response.headers, text: await response.text() };
    expectLimits(answer, method, path, rest.clock === undefined ? time.now : 0);
    return answer;
  }

  return { accounts, events, handler, issued, key, keyId, send, store, time };
}

/** Pending orders with identifiers from 10. */
export const manyOrders = (count: number): readonly StoredOrder[] =>
  Array.from({ length: count }, (_, id) => ({
    ...{ record: { id: BigInt(id) + 10n, petId: 1n, quantity: 1 }, status: "pending" },
  }));

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The status and the code of an error, and some of its headers. */
export const factsOf = (answer: Answer, ...names: readonly string[]) => [
  ...[answer.status, codeOf(answer)],
  ...names.map((name) => answer.headers.get(name)),
];

const STATUSES = new Set<number>([200, 204, ...Object.values(ERRORS).map(({ status }) => status)]);

/**
 * Every response of the API, failures included, has all three rate-limit headers, and they and the others fit its status.
 * `assert`, because `expect` would take most of the time of so many responses.
 */
function expectLimits({ status, headers, text }: Answer, method: string, path: string, now: number): void {
  const facts = `${method} ${path}: ${status}`;
  const isPreflight = method === "OPTIONS" && status === 204;
  if (status >= 400 && method !== "HEAD") assert(JSON.parse(text).status === status, facts);
  assert(headers.has("www-authenticate") === (status === 401), facts);
  assert(headers.has("allow") === (status === 405), facts);
  if (!/^\/v1\//.test(path) || !STATUSES.has(status) || status === 421 || isPreflight) return;
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) => {
    const value = headers.get(`x-ratelimit-${name}`);
    assert(/^\d+$/.test(value ?? ""), `${name} of ${facts}`);
    return Number(value);
  }) as [number, number, number];
  assert(remaining <= limit && reset * 1000 >= now, facts);
  const retryAfter = headers.get("retry-after");
  assert((retryAfter !== null) === (status === 429 || status === 503), facts);
  if (status !== 429) return;
  // Whose key was not looked up waits a second.
  if (remaining === limit) assert(retryAfter === "1", facts);
  else assert(remaining === 0 && Number(retryAfter) * 1000 >= reset * 1000 - now - 999, facts);
}

/** The code of an Error body, after a look at its shape. */
export function codeOf({ status, text, headers }: Answer): string {
  expect(headers.get("content-type")).toBe("application/json");
  const body = JSON.parse(text);
  expect(Object.keys(body)).toEqual(["code", "message", "status"]);
  expect(body.status).toBe(status);
  expect(body.message).toMatch(/^[A-Z].*\.$/);
  return body.code;
}

/** A body in these parts. */
export function readerOf(parts: (readonly string[])[]): TextReader {
  return {
    async read() {
      const value = parts.shift();
      return value === undefined ? { done: true } : { done: false, value };
    },
    async cancel() {},
  };
}
