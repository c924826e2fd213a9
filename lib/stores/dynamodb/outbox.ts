import { setTimeout as sleep } from "node:timers/promises";
import { mapBounded } from "../../core/concurrency.ts";
import { CALL_TIMEOUT_MS, type Instant } from "../../core/time.ts";
import type { AcknowledgedOrder, Outbox, WaitingOrder } from "../../orders/order-store.ts";
import { MAX_CLOCK_SKEW_MS } from "../../plans/windows.ts";
import { NEVER, readWaitingOrder } from "../order-rows.ts";
import { callTimeout } from "./client.ts";
import { idOf } from "./list.ts";
import { countChanges, type Marking, orderWithHistoryOf } from "./orders.ts";
import { BUCKETS, ORDERS_SETTINGS_KEY, OUTBOX_INDEX, orderKey } from "./schema.ts";
import {
  changeItem,
  combine,
  type Item,
  numberOf,
  numberValue,
  numberValues,
  pagesOf,
  type ReadRange,
  type TableClient,
} from "./table.ts";

/*
 * An order with changes that have not been delivered has four more attributes: `u`, the instant at which it is due, or
 * below zero its lease, by which a sparse index finds it; `o`, the instant of the oldest of these changes; `d`, the number
 * of changes that were delivered; `a`, the failed attempts. A write cannot read in DynamoDB whether the outbox is on. So
 * each process reads it, and relies on what it has read for a second. Whoever switches waits for that second, and for the
 * writes that were sent in it.
 */
const SETTING_TTL_MS = 1_000;

const MAX_CONCURRENT_WRITES = 16;
const MAX_BATCH_KEYS = 100;

const DUE_AT_ONCE = { set: ["#u = :zero"], remove: ["#a"], values: numberValues({ ":zero": 0 }) };

export function createMarking(table: TableClient): Marking {
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<boolean> | undefined;
  return async (at) => {
    const now = performance.now();
    if (reading === undefined || now >= readAt + SETTING_TTL_MS) {
      readAt = now;
      reading = readSetting(table).catch((error) => {
        reading = undefined;
        throw error;
      });
    }
    if (!(await reading)) return () => ({});
    return (changes) => ({ u: numberValue(0), o: numberValue(at), d: numberValue(changes) });
  };
}

async function readSetting(table: TableClient): Promise<boolean> {
  return (await table.get(ORDERS_SETTINGS_KEY, callTimeout()))?.["outbox"]?.BOOL === true;
}

export function createOutbox(table: TableClient): Outbox {
  async function readIndex(range: Partial<ReadRange>): Promise<Item[]> {
    const found: Item[] = [];
    for await (const items of pagesOf(table, { ...range, index: OUTBOX_INDEX })) {
      found.push(...items);
      if (found.length >= (range.limit ?? Infinity)) break;
    }
    return found;
  }

  async function readBuckets(range: string, values: Item, limit: number): Promise<readonly Item[]> {
    const found = await Promise.all(
      Array.from({ length: BUCKETS }, (_, bucket) =>
        readIndex({
          condition: `#bucket = :bucket AND ${range}`,
          values: { ...values, ":bucket": numberValue(bucket) },
          limit,
        }),
      ),
    );
    return found.flat();
  }

  async function lease(seen: Item, at: Instant, lease: number): Promise<readonly WaitingOrder[]> {
    const since = numberOf(seen["o"]);
    const update = {
      set: ["#u = :lease", "#o = :o"],
      conditions: ["#u = :seen"],
      values: {
        ":lease": numberValue(lease),
        ":o": numberValue(since > at + MAX_CLOCK_SKEW_MS ? at : since),
        ":seen": seen["u"],
      } as Item,
    };
    const { done, before } = await table.update(keyOf(seen), update, callTimeout());
    return done && before !== undefined ? [waitingOrderOf({ ...before, u: numberValue(lease) } as Item)] : [];
  }

  async function acknowledge({ id, delivered, lease }: AcknowledgedOrder): Promise<void> {
    const decide = (item: Item = {}) => {
      const { wire, status, u, d } = item;
      const result = undefined;
      if (u === undefined) return { result };
      const [hold, before] = [numberOf(u), numberOf(d)];
      const isFree = hold >= 0 || hold === lease;
      const isUnchanged = {
        conditions: ["#wire = :wire", "#status = :status", "#d = :seen", "#u = :u"],
        values: { ":wire": wire, ":status": status, ":seen": d, ":u": u } as Item,
      };
      const remove = { remove: ["#u", "#o", "#d", "#a"] };
      if (isFree && delivered >= countChanges(item))
        return { result, update: () => combine(isUnchanged, remove) };
      if (hold !== lease && delivered <= before) return { result };
      const advance = { set: ["#d = :d"], values: numberValues({ ":d": Math.max(delivered, before) }) };
      return { result, update: () => combine(isUnchanged, advance, isFree ? DUE_AT_ONCE : {}) };
    };
    await changeItem(table, orderKey(id), { decide }, callTimeout());
  }

  async function retry(key: Item): Promise<boolean> {
    const update = combine(DUE_AT_ONCE, { conditions: ["#u > :zero"] });
    return (await table.update(key, update, callTimeout())).done;
  }

  /** One read, while nothing waits. */
  const isEmpty = async () => (await readIndex({ limit: 1 })).length === 0;
  const isFailed = (item: Item) => numberOf(item["u"]) === NEVER;
  return {
    async switch(on) {
      const item = { ...ORDERS_SETTINGS_KEY, outbox: { BOOL: on } };
      const { done, before } = await table.add(item, ORDERS_SETTINGS_KEY, callTimeout());
      if (!done) {
        if ((before?.["outbox"]?.BOOL ?? false) === on) return;
        const values = { ":on": item.outbox };
        const set = { set: ["#outbox = :on"], conditions: ["attribute_exists(#id)"], values };
        await table.update(ORDERS_SETTINGS_KEY, set, callTimeout());
      }
      await sleep(SETTING_TTL_MS + CALL_TIMEOUT_MS);
    },

    isOn: () => readSetting(table),

    async lease(limit, at, number) {
      if (await isEmpty()) return [];
      const values = numberValues({ ":zero": 0, ":at": at });
      const due = await readBuckets("#u BETWEEN :zero AND :at", values, limit);
      const oldest = due.toSorted(byAge).slice(0, limit);
      return (await mapBounded(oldest, MAX_CONCURRENT_WRITES, (item) => lease(item, at, number))).flat();
    },

    async held(after, limit) {
      if (await isEmpty()) return [];
      const later = numberValues({ ":from": after + 1, ":to": NEVER - 1 });
      const held = await Promise.all([
        readBuckets("#u < :zero", numberValues({ ":zero": 0 }), limit),
        readBuckets("#u BETWEEN :from AND :to", later, limit),
      ]);
      const orders = held.flat().slice(0, limit);
      return orders.map((item) => ({ id: idOf(item), hold: numberOf(item["u"]) }));
    },

    async release(held) {
      const free = { set: ["#u = :zero"], conditions: ["#u = :hold"] };
      await mapBounded(held, MAX_CONCURRENT_WRITES, async ({ id, hold }) => {
        const values = numberValues({ ":zero": 0, ":hold": hold });
        await table.update(orderKey(id), { ...free, values }, callTimeout());
      });
    },

    async acknowledge(deliveries) {
      const results = await Promise.allSettled(deliveries.map(acknowledge));
      for (const result of results) if (result.status === "rejected") throw result.reason;
    },

    async postpone(id, leased, due = NEVER) {
      const update = {
        set: ["#u = :due", "#a = if_not_exists(#a, :zero) + :one"],
        conditions: ["#u = :leased"],
        values: numberValues({ ":due": due, ":leased": leased, ":zero": 0, ":one": 1 }),
      };
      await table.update(orderKey(id), update, callTimeout());
    },

    async list(kind, limit) {
      const isOfKind = (item: Item) => item["u"] !== undefined && isFailed(item) === (kind === "failed");
      const keys = (await readIndex({})).filter(isOfKind).sort(byAge).map(keyOf);
      const items: Item[] = [];
      // Orders that are delivered meanwhile make room for the next ones.
      while (keys.length > 0 && items.length < limit) {
        const batch = keys.splice(0, Math.min(MAX_BATCH_KEYS, limit - items.length));
        items.push(...(await table.getAll(batch, callTimeout())).filter(isOfKind));
      }
      return items.sort(byAge).map(waitingOrderOf);
    },

    async retry(id) {
      if (id !== undefined) return (await retry(orderKey(id))) ? 1 : 0;
      const postponed = (await readIndex({})).filter((item) => numberOf(item["u"]) > 0);
      const results = await mapBounded(postponed, MAX_CONCURRENT_WRITES, (item) => retry(keyOf(item)));
      return results.filter(Boolean).length;
    },

    async backlog() {
      const all = await readIndex({});
      const waiting = all.filter((item) => !isFailed(item)).sort(byAge);
      const [first] = waiting;
      const failed = all.length - waiting.length;
      return { waiting: waiting.length, failed, ...(first && { oldest: numberOf(first["o"]) }) };
    },
  };
}

function keyOf({ bucket, id }: Item): Item {
  return { bucket, id } as Item;
}

function byAge(a: Item, b: Item): number {
  return numberOf(a["o"]) - numberOf(b["o"]);
}

function waitingOrderOf(item: Item): WaitingOrder {
  const { u, d, a } = item;
  const mark = { delivered: numberOf(d), attempts: Number(a?.N ?? 0), due: numberOf(u) };
  return readWaitingOrder(idOf(item), mark, () => orderWithHistoryOf(item));
}
