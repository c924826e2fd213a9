import { html } from "hono/html";
import { ORDER_STATUSES } from "../../orders/lifecycle.ts";
import { changeForm } from "../form.ts";
import { type Html, pathOf, type View } from "../section.ts";
import { formatCount, formatTime } from "../text.ts";
import { explainCountCost } from "./count-cost.ts";
import type { StatusCounter } from "./status-counter.ts";

/** The number of orders by status, and when they were counted. Where reading costs money, only on request. */
export function countsPanel(view: View, counter: StatusCounter, isMetered: boolean, list: Html): Html {
  const { latest } = counter;
  const known = ORDER_STATUSES.map((status) => item(status, latest?.counts[status]));
  const items =
    latest === undefined || latest.unknown === 0 ? known : [...known, item("unknown", latest.unknown)];
  return html`<section class="panel" aria-labelledby="counts-title">
    <h2 id="counts-title">By status</h2>
    <dl class="counts number">${items}</dl>
    <p class="quiet small number">${stateOf(counter)}</p>
    ${isMetered ? countOnRequest(view, counter, list) : ""}
  </section>`;
}

function item(status: string, count: number | undefined): Html {
  return html`<div><dt>${status}</dt><dd>${count === undefined ? "–" : formatCount(count)}</dd></div>`;
}

function stateOf({ latest, isCurrent, progress, failure }: StatusCounter): string {
  const at = latest === undefined ? "Not counted yet." : `Counted at ${formatTime(latest.at)}.`;
  const change = isCurrent ? " Nothing has changed since." : "";
  const failed = failure === undefined ? "" : ` The last count failed: ${failure}`;
  const running = progress === undefined ? "" : ` Counting: ${formatCount(progress)} so far.`;
  return `${at}${running === "" ? `${change}${failed}` : running}`;
}

function countOnRequest(view: View, { latest, progress }: StatusCounter, list: Html): Html {
  const last = latest && Object.values(latest.counts).reduce((sum, count) => sum + count, latest.unknown);
  const button = html`${list}<button${progress === undefined ? "" : html` disabled`}>Count now</button>`;
  return html`<p class="small">${explainCountCost(last)}</p>
    ${changeForm(view, pathOf(view, "orders", "count"), button)}`;
}
