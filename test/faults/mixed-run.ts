/** Requests by many callers at once while the store fails, and the reckoning with the store afterwards. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Store } from "../../lib/stores/store.ts";
import { expectUnavailable, LIST, type ObservedResponse, orderAt, type SendRequest } from "./requester.ts";
import type { Choices } from "./run.ts";

/** The limit of the account: the headers of a 503 tell by it whether the request had been admitted. */
export const PER_MINUTE = 60_000;

/** What the callers were told. */
export interface Tally {
  /** Answers that only an admitted request gets. */
  admitted: number;
  unavailable: number;
  /** Lists that came to their end, and those that broke off. */
  lists: number;
  torn: number;
  /** Statuses by order, in the order of the answers. */
  readonly cancels: Map<number, ObservedResponse[]>;
}

/**
 * Sends requests, `width` at a time: cancels, some of one order by several callers, and lists. Every answer is checked
 * by itself; a list that came to its end has every order.
 */
export async function mixedRun(
  ask: SendRequest,
  chosen: Choices,
  { orders, requests, width }: { orders: number; requests: number; width: number },
): Promise<Tally> {
  const tally: Tally = { admitted: 0, unavailable: 0, lists: 0, torn: 0, cancels: new Map() };
  const plan = Array.from({ length: requests }, () =>
    chosen.chance(0.05) ? LIST : orderAt(chosen.int(0, orders - 1)),
  ).values();

  async function call(): Promise<void> {
    for (const path of plan) {
      const told = await ask(path === LIST ? "GET" : "DELETE", path);
      if (path === LIST) noteList(tally, told, orders);
      else noteCancel(tally, told, Number(path.slice(LIST.length + 1)));
      // A caller who comes back at once would spend all requests on the first fault.
      if (told.status === 503) await sleep(chosen.int(5, 50));
    }
  }
  await Promise.all(Array.from({ length: width }, call));
  return tally;
}

/** True where the answer has what is left to the account, which only an admitted request is told. */
export function wasAdmitted({ headers }: ObservedResponse): boolean {
  return headers.get("x-ratelimit-limit") === `${PER_MINUTE}`;
}

function note(tally: Tally, told: ObservedResponse): void {
  expect([200, 204, 409, 503]).toContain(told.status);
  if (wasAdmitted(told)) tally.admitted++;
  else expect(told.status, "who was not admitted is not served").toBe(503);
  if (told.status !== 503) return;
  tally.unavailable++;
  expectUnavailable(told);
}

function noteList(tally: Tally, told: ObservedResponse, orders: number): void {
  if (!told.whole) {
    // Only a list that has begun is broken off, and its head may be lost with the connection.
    tally.torn++;
    tally.admitted++;
    return;
  }
  note(tally, told);
  if (told.status !== 200) return;
  tally.lists++;
  const ids = (JSON.parse(told.text) as { id: number }[]).map(({ id }) => id);
  expect(ids).toEqual(Array.from({ length: orders }, (_, id) => id));
}

function noteCancel(tally: Tally, told: ObservedResponse, id: number): void {
  note(tally, told);
  tally.cancels.set(id, [...(tally.cancels.get(id) ?? []), told]);
}

/**
 * Compares the store with what callers were told. An order has one 204 at most, and is cancelled then; a 409 has a
 * 204 or a lost answer as its cause; an order that nobody asked to cancel is pending, and every record is intact.
 */
export async function reconcile(store: Store, tally: Tally, orders: number): Promise<Figures> {
  let [cancelled, untold] = [0, 0];
  let seen = 0;
  for await (const page of store.orders.scan()) {
    for (const { record, status } of page) {
      expect(record).toEqual(recordAt(seen));
      const statuses = (tally.cancels.get(seen++) ?? []).map((told) => told.status);
      const [done, lost] = [204, 503].map((code) => statuses.filter((told) => told === code).length);
      expect(done, "an order is cancelled once").toBeLessThanOrEqual(1);
      if (done === 1) expect(status).toBe("cancelled");
      if (status === "cancelled" && done === 0) {
        expect(lost, "who cancelled it was told so, or told nothing").toBeGreaterThan(0);
        untold++;
      }
      if (statuses.includes(409)) expect(status).toBe("cancelled");
      if (statuses.some((told) => told !== 503)) expect(status).toBe("cancelled");
      if (status === "cancelled") cancelled++;
    }
  }
  expect(seen, "orders in the store").toBe(orders);
  return {
    "answered 503": tally.unavailable,
    "lists whole / broken off": `${tally.lists} / ${tally.torn}`,
    "orders cancelled": cancelled,
    "of these by a request that was told 503": untold,
  };
}

/** For the table at the end. */
export type Figures = Readonly<Record<string, number | string>>;

/** The order at an index, each with a content of its own. */
export function recordAt(index: number) {
  return { id: BigInt(index), petId: BigInt(index * 31), quantity: index % 7 };
}
