/** The numbers of orders by status. Where reading costs money, they are counted on request only. */
import { setTimeout as sleep } from "node:timers/promises";
import { html } from "hono/html";
import { errorMessage } from "../../core/errors.ts";
import { formatCount } from "../../core/text.ts";
import type { Clock, Instant } from "../../core/time.ts";
import { ORDER_STATUSES, type OrderStatus } from "../../orders/lifecycle.ts";
import type { OrderCounts, OrderStore } from "../../orders/order-store.ts";
import { changeForm } from "../form.ts";
import { formatInstant, type Html, pathOf, type View } from "../page.ts";

const MAX_SHARE = 1 / 20;
const PATIENCE_MS = 100;

/** The last count of the orders of a store by status, and the means to count again. */
export type OrderCounter = ReturnType<typeof createOrderCounter>;

/** Counts the orders of a store by status, one count at a time. */
export function createOrderCounter(store: OrderStore, clock: Clock) {
  let latest: { readonly counts: OrderCounts; readonly at: Instant } | undefined;
  let failure: string | undefined;
  let running: Promise<void> | undefined;
  let dueAt = 0;

  async function countAll(): Promise<void> {
    const start = performance.now();
    failure = undefined;
    try {
      latest = { counts: await store.countByStatus(), at: clock() };
    } catch (error) {
      failure = errorMessage(error);
    }
    const end = performance.now();
    dueAt = end + (end - start) / MAX_SHARE;
    running = undefined;
  }

  /** Counts, unless a count is running. Resolves with its end, or after a tenth of a second. */
  async function count(): Promise<void> {
    running ??= countAll();
    await Promise.race([running, sleep(PATIENCE_MS, undefined, { ref: false })]);
  }

  return {
    count,
    /** Counts if counting then takes at most a twentieth of the time. */
    async refresh(): Promise<void> {
      if (performance.now() >= dueAt) await count();
    },
    /** The last complete count, the reason why the last one failed, if it did, and whether one is running. */
    state: () => ({ latest, failure, isRunning: running !== undefined }),
    /** The orders with a status, or all of them, by the last complete count. */
    of(status?: OrderStatus): number | undefined {
      const counts =
        latest && (status === undefined ? Object.values(latest.counts) : [latest.counts[status]]);
      return counts?.reduce((sum, number) => sum + number, 0);
    },
  };
}

/** The counts, each as a link to its orders, and on a metered store the cost of counting with a button. */
export function countsPanel(
  view: View,
  counter: OrderCounter,
  isMetered: boolean,
  linkTo: (status?: OrderStatus) => string,
  current?: OrderStatus,
): Html {
  const { latest, isRunning, failure } = counter.state();
  const items = [undefined, ...ORDER_STATUSES].map((status) => {
    const count = counter.of(status);
    const mark = status === current ? html` aria-current="true"` : "";
    return html`<div><dt><a href="${linkTo(status)}"${mark}>${status ?? "all"}</a></dt><dd>${count === undefined ? "–" : formatCount(count)}</dd></div>`;
  });
  const at = latest === undefined ? "Not counted yet." : `Counted at ${formatInstant(latest.at)}.`;
  const states = [
    isMetered ? at : "",
    isRunning && (isMetered || latest === undefined) ? "Counting …" : "",
    failure === undefined ? "" : `The last count failed: ${failure}`,
  ].filter(Boolean);
  return html`<section aria-label="By status">
    <dl class="counts number">${items}</dl>
    ${states.length === 0 ? "" : html`<p class="quiet small number">${states.join(" ")}</p>`}
    ${isMetered ? countOnRequest(view, counter) : ""}
  </section>`;
}

function countOnRequest(view: View, counter: OrderCounter): Html {
  const button = html`<button${counter.state().isRunning ? html` disabled` : ""}>Count now</button>`;
  return html`<p class="small">${explainCountCost(counter.of())}</p>
    ${changeForm(view, pathOf(view, "orders", "count"), button)}`;
}

/** The size of the largest order in DynamoDB in bytes, with 20 digits in each identifier and the marks of its events. */
export const MAX_ITEM_BYTES = 256;
const READ_UNIT_BYTES = 4096;

/** The cost of a count in words: for the number of orders of the last one, otherwise for a million. */
export function explainCountCost(lastCount: number | undefined): string {
  const orders = lastCount ?? 1_000_000;
  const units = formatCount(Math.ceil((orders * MAX_ITEM_BYTES) / READ_UNIT_BYTES));
  const subject =
    lastCount === undefined ? "for a million orders" : `for the ${formatCount(orders)} of the last count`;
  return `Counting, like an export, reads every order from DynamoDB: at most ${units} read units ${subject}, and at least one for each bucket.`;
}
