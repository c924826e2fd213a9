/** Concurrent requests while the store fails, and the comparison of the responses with the store. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { eachOrder } from "../../lib/orders/order-query.ts";
import type { Store } from "../../lib/stores/store.ts";
import {
  expectUnavailable,
  LIST,
  type ObservedResponse,
  orderAt,
  retryWhileUnavailable,
  type SendRequest,
} from "./requester.ts";
import type { SeededRandom } from "./run.ts";

/** The limit of the account. It shows in the headers of a 503 whether the request was admitted. */
export const PER_MINUTE = 60_000;

export interface Tally {
  /** Responses that only an admitted request gets. */
  admitted: number;
  unavailable: number;
  /** Cancels without a response: the connection was closed, as an idle one is. */
  unanswered: number;
  /** Lists that were complete, and lists that broke off. */
  completeLists: number;
  incompleteLists: number;
  /** Responses by order, in the order of arrival. */
  readonly cancels: Map<number, ObservedResponse[]>;
}

/**
 * Sends requests, `width` at a time, until it has sent them or is stopped: cancels, some of one order by several callers,
 * and lists. Every response is checked; a complete list contains every order.
 */
export async function runMixedRequests(
  send: SendRequest,
  random: SeededRandom,
  {
    orders,
    requests,
    width,
    stopped = () => false,
  }: { orders: number; requests: number; width: number; stopped?: () => boolean },
): Promise<Tally> {
  const tally: Tally = {
    admitted: 0,
    unavailable: 0,
    unanswered: 0,
    completeLists: 0,
    incompleteLists: 0,
    cancels: new Map(),
  };
  let sent = 0;

  async function sendPlanned(): Promise<void> {
    while (sent++ < requests && !stopped()) {
      const path = random.chance(0.05) ? LIST : orderAt(random.int(0, orders - 1));
      const response = await send(path === LIST ? "GET" : "DELETE", path);
      if (path === LIST) tallyList(tally, response, orders);
      else tallyCancel(tally, response, Number(path.slice(LIST.length + 1)));
      // Without a pause, one fault would consume all requests.
      if (response.status === 503) await sleep(random.int(5, 50));
    }
  }
  await Promise.all(Array.from({ length: width }, sendPlanned));
  return tally;
}

/** Causes a fault, and ends it after the pause. */
export type InjectedFault = (pause: () => Promise<void>) => Promise<unknown>;

/**
 * Sends mixed requests while faults are injected, each equally often, until the requests are done. The service recovers
 * by itself after each fault. Returns what the responses have shown, with the other requests that were admitted.
 */
export async function runUnderFaults(
  send: SendRequest,
  faults: Readonly<Record<string, InjectedFault>>,
  requests: Parameters<typeof runMixedRequests>[2],
  randoms: { readonly requests: SeededRandom; readonly faults: SeededRandom },
) {
  let isDone = false;
  let others = 0;
  const expectRecovered = async () => {
    const response = await retryWhileUnavailable(async () => {
      const other = await send("DELETE", orderAt(-1));
      if (wasAdmitted(other)) others++;
      return other;
    });
    expect(response.status, "still serves").toBe(404);
  };
  const { int, pick } = randoms.faults;
  const names = Object.keys(faults);
  const injected: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
  // On a slow machine, the requests last until each fault was injected.
  const stopped = () => requests.stopped?.() === true && Object.values(injected).every((times) => times > 0);
  const running = runMixedRequests(send, randoms.requests, { ...requests, stopped }).finally(() => {
    isDone = true;
  });
  for (let remaining = names; !isDone; remaining = remaining.length > 0 ? remaining : names) {
    const name = pick(remaining);
    remaining = remaining.filter((other) => other !== name);
    await faults[name]?.(() => sleep(int(1, 150)));
    injected[name] = (injected[name] ?? 0) + 1;
    await expectRecovered();
    await sleep(int(1, 150));
  }
  const tally = await running;
  await expectRecovered();
  for (const [fault, times] of Object.entries(injected)) expect(times, fault).toBeGreaterThan(0);
  const total = Object.values(injected).reduce((sum, times) => sum + times, 0);
  return { tally, admitted: tally.admitted + others, injected, total };
}

/** True if the response has the account's limit, which only an admitted request gets. */
function wasAdmitted({ headers }: ObservedResponse): boolean {
  return headers.get("x-ratelimit-limit") === `${PER_MINUTE}`;
}

function tallyResponse(tally: Tally, response: ObservedResponse): void {
  expect([200, 204, 409, 503]).toContain(response.status);
  if (wasAdmitted(response)) tally.admitted++;
  else expect(response.status, "a request that was not admitted is not served").toBe(503);
  if (response.status !== 503) return;
  tally.unavailable++;
  expectUnavailable(response);
}

function tallyList(tally: Tally, response: ObservedResponse, orders: number): void {
  if (!response.complete) {
    // Only a started list can break off. Its head may be lost with the connection.
    tally.incompleteLists++;
    tally.admitted++;
    return;
  }
  tallyResponse(tally, response);
  if (response.status !== 200) return;
  tally.completeLists++;
  const ids = (JSON.parse(response.text) as { id: number }[]).map(({ id }) => id);
  expect(ids).toEqual(Array.from({ length: orders }, (_, id) => id));
}

function tallyCancel(tally: Tally, response: ObservedResponse, id: number): void {
  if (response.status === 0) tally.unanswered++;
  else tallyResponse(tally, response);
  tally.cancels.set(id, [...(tally.cancels.get(id) ?? []), response]);
}

/**
 * Compares the store with the responses. An order has at most one 204, and is cancelled if it has one. A 409 follows a
 * 204 or a lost response. An order without a cancel is pending, and every record is intact.
 */
export async function reconcile(store: Store, tally: Tally, orders: number): Promise<Figures> {
  let [cancelled, unacknowledged] = [0, 0];
  let index = 0;
  for await (const page of eachOrder(store.orders)) {
    for (const { record, status } of page) {
      expect(record).toEqual(recordAt(index));
      const statuses = (tally.cancels.get(index++) ?? []).map((response) => response.status);
      const done = statuses.filter((response) => response === 204).length;
      const lost = statuses.filter(isUnknown).length;
      expect(done, "an order is cancelled once").toBeLessThanOrEqual(1);
      if (done === 1) expect(status).toBe("cancelled");
      if (status === "cancelled" && done === 0) {
        expect(lost, "an order that is cancelled without a 204 has a 503").toBeGreaterThan(0);
        unacknowledged++;
      }
      if (statuses.includes(409)) expect(status).toBe("cancelled");
      if (!statuses.every(isUnknown)) expect(status).toBe("cancelled");
      if (status === "cancelled") cancelled++;
    }
  }
  expect(index, "orders in the store").toBe(orders);
  return {
    "responses with 503": tally.unavailable,
    "lists complete / broken off": `${tally.completeLists} / ${tally.incompleteLists}`,
    "orders cancelled": cancelled,
    "of these by a request that got 503": unacknowledged,
  };
}

/** True for a status after which the order may be cancelled or not. */
const isUnknown = (status: number) => status === 503 || status === 0;

/** Figures for the table at the end of the run. */
export type Figures = Readonly<Record<string, number | string>>;

export function recordAt(index: number) {
  return { id: BigInt(index), petId: BigInt(index * 31), quantity: index % 7 };
}
