import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Clock, Instant } from "../../clock.ts";
import { ORDER_STATUSES, type OrderStatus } from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";

/** How many orders had each status. */
export interface StatusCounts {
  readonly counts: Readonly<Record<OrderStatus, number>>;
  readonly at: Instant;
}

/** Counts the orders of a store by status, in the background. */
export interface StatusCounter {
  /** The last complete count. */
  readonly latest: StatusCounts | undefined;
  /** The orders that the running count has seen so far. */
  readonly progress: number | undefined;
  /** Counts unless a count is running. Resolves with its end, or after a tenth of a second. */
  count(): Promise<void>;
  /** Counts again if this has become due: counting takes at most a twentieth of the time. */
  refresh(): Promise<void>;
}

const MAX_SHARE = 1 / 20;
const MIN_AGE_MS = 1_000;
const PATIENCE_MS = 100;

/** Creates a counter that has counted nothing yet. It reads page by page, so requests are served in between. */
export function createStatusCounter(store: OrderStore, clock: Clock): StatusCounter {
  let latest: StatusCounts | undefined;
  let progress: number | undefined;
  let running: Promise<void> | undefined;
  let failure: unknown;
  let dueAt = 0;

  async function countAll(): Promise<void> {
    const [start, startedAt] = [performance.now(), clock()];
    const counts = emptyCounts();
    progress = 0;
    for await (const page of store.scan()) {
      for (const { status } of page) counts[status] += 1;
      progress += page.length;
      await nextTurn();
    }
    latest = { counts, at: startedAt };
    dueAt = performance.now() + Math.max(MIN_AGE_MS, (performance.now() - start) / MAX_SHARE);
  }

  async function count(): Promise<void> {
    running ??= countAll()
      .catch((error) => {
        failure = error;
      })
      .finally(() => {
        running = undefined;
        progress = undefined;
      });
    await Promise.race([running, sleep(PATIENCE_MS, undefined, { ref: false })]);
    const error = failure;
    failure = undefined;
    if (error !== undefined) throw error;
  }

  return {
    get latest() {
      return latest;
    },
    get progress() {
      return progress;
    },
    count,
    refresh: async () => (performance.now() >= dueAt ? count() : undefined),
  };
}

function emptyCounts(): Record<OrderStatus, number> {
  return Object.fromEntries(ORDER_STATUSES.map((status) => [status, 0])) as Record<OrderStatus, number>;
}
