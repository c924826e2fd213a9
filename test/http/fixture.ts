import { expect } from "vitest";
import { createAccounts, type IssuedKey } from "../../lib/accounts/accounts.ts";
import { createHandler } from "../../lib/http/handler.ts";
import type { HandlerOptions } from "../../lib/http/options.ts";
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
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  return { accounts, events, handler, issued, key, keyId, send, store, time };
}

/** The code of an Error body, after a look at its shape. */
export function codeOf({
  status,
  text,
  headers,
}: {
  status: number;
  text: string;
  headers: Headers;
}): string {
  expect(headers.get("content-type")).toBe("application/json");
  const body = JSON.parse(text);
  expect(Object.keys(body)).toEqual(["code", "message", "status"]);
  expect(body.status).toBe(status);
  expect(body.message).toMatch(/^[A-Z].*\.$/);
  return body.code;
}
