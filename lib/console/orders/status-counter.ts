import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Clock, Instant } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { isOrderStatus, ORDER_STATUSES, type OrderStatus } from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";

/** How many orders had each status. */
export interface StatusCounts {
  readonly counts: Readonly<Record<OrderStatus, number>>;
  /** Orders with a status that no rule knows. */
  readonly unknown: number;
  /** When counting began. */
  readonly at: Instant;
  /** The revision of the store before, if it has one. */
  readonly revision: string | undefined;
}

/** Counts the orders of a store by status, in the background. */
export interface StatusCounter {
  /** The last complete count. */
  readonly latest: StatusCounts | undefined;
  /** True if the store has said that no order has changed since. */
  readonly isCurrent: boolean;
  /** The orders that the running count has seen so far. */
  readonly progress: number | undefined;
  /** Why the last count failed, if it did. */
  readonly failure: string | undefined;
  /** Counts unless a count is running. Ends with it, or after a tenth of a second. */
  count(): Promise<void>;
  /** Counts again if an order has changed, and counting takes at most a twentieth of the time. A failure is only noted. */
  refresh(): Promise<void>;
}

const MAX_SHARE = 1 / 20;
const MIN_AGE_MS = 1_000;
const PATIENCE_MS = 100;

/** Creates a counter that has counted nothing yet. It reads page by page, so requests are served in between. */
export function createStatusCounter(store: OrderStore, clock: Clock): StatusCounter {
  let latest: StatusCounts | undefined;
  let isCurrent = false;
  let progress: number | undefined;
  let running: Promise<void> | undefined;
  let failure: string | undefined;
  let dueAt = 0;

  async function countAll(): Promise<void> {
    const at = clock();
    const counts = emptyCounts();
    let unknown = 0;
    progress = 0;
    const revision = await store.revision?.();
    for await (const page of store.scan()) {
      for (const { status } of page) {
        if (isOrderStatus(status)) counts[status] += 1;
        else unknown += 1;
      }
      progress += page.length;
      await nextTurn();
    }
    latest = { counts, unknown, at, revision };
    isCurrent = await isLatest();
  }

  async function isLatest(): Promise<boolean> {
    return latest?.revision !== undefined && (await store.revision?.()) === latest.revision;
  }

  async function count(): Promise<void> {
    if (running === undefined) {
      failure = undefined;
      const start = performance.now();
      running = countAll().finally(() => {
        dueAt = performance.now() + Math.max(MIN_AGE_MS, (performance.now() - start) / MAX_SHARE);
        running = undefined;
        progress = undefined;
      });
      // A failure after the caller's patience is only noted.
      running.catch((error) => {
        failure = errorMessage(error);
      });
    }
    await Promise.race([running, sleep(PATIENCE_MS, undefined, { ref: false })]);
  }

  return {
    get latest() {
      return latest;
    },
    get isCurrent() {
      return isCurrent;
    },
    get progress() {
      return progress;
    },
    get failure() {
      return failure;
    },
    count,
    async refresh() {
      if (running !== undefined) return;
      isCurrent = await isLatest();
      if (!isCurrent && performance.now() >= dueAt) await count().catch(() => {});
    },
  };
}

function emptyCounts(): Record<OrderStatus, number> {
  return Object.fromEntries(ORDER_STATUSES.map((status) => [status, 0])) as Record<OrderStatus, number>;
}
