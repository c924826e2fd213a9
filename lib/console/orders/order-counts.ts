import { setTimeout as sleep } from "node:timers/promises";
import { html } from "hono/html";
import { formatCount } from "../../core/text.ts";
import { LIFECYCLE, type OrderStatus } from "../../orders/lifecycle.ts";
import type { OrderCounts, OrderStore } from "../../orders/order-store.ts";
import type { Html } from "../page.ts";

const MAX_SHARE = 1 / 20;
const PATIENCE_MS = 100;

export type OrderCounter = ReturnType<typeof createOrderCounter>;

export function createOrderCounter(store: OrderStore) {
  let latest: OrderCounts | undefined;
  let running: Promise<void> | undefined;
  let dueAt = 0;

  async function countAll(): Promise<void> {
    const start = performance.now();
    latest = await store.countByStatus().catch(() => undefined);
    const end = performance.now();
    dueAt = end + (end - start) / MAX_SHARE;
    running = undefined;
  }

  return {
    /** Counts if that takes at most a twentieth of the time. Resolves with the end of the count, or after 100 ms. */
    async refresh(): Promise<void> {
      if (performance.now() < dueAt) return;
      running ??= countAll();
      await Promise.race([running, sleep(PATIENCE_MS, undefined, { ref: false })]);
    },
    /** The orders with a status, or all of them, by the last count; `undefined` without one, or if it failed. */
    of(status?: OrderStatus): number | undefined {
      const counts = latest && (status === undefined ? Object.values(latest) : [latest[status]]);
      return counts?.reduce((sum, number) => sum + number, 0);
    },
  };
}

export function countsPanel(
  counter: OrderCounter,
  linkTo: (status?: OrderStatus) => string,
  current?: OrderStatus,
): Html {
  const items = [undefined, ...LIFECYCLE.statuses].map((status) => {
    const count = counter.of(status);
    const mark = status === current ? html` aria-current="true"` : "";
    return html`<div><dt><a href="${linkTo(status)}"${mark}>${status ?? "all"}</a></dt><dd>${count === undefined ? "–" : formatCount(count)}</dd></div>`;
  });
  return html`<section aria-label="By status"><dl class="counts number">${items}</dl></section>`;
}
