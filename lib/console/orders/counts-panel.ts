import { html } from "hono/html";
import { ORDER_STATUSES } from "../../orders/lifecycle.ts";
import { changeForm } from "../form.ts";
import { type Html, pathOf, type View } from "../section.ts";
import { formatCount, formatTime } from "../text.ts";
import type { StatusCounter } from "./status-counter.ts";

/** The number of orders by status, and when they were counted. Where reading costs money, only on request. */
export function countsPanel(view: View, { latest, progress }: StatusCounter, isMetered: boolean): Html {
  const items = ORDER_STATUSES.map(
    (status) =>
      html`<div><dt>${status}</dt><dd>${latest === undefined ? "–" : formatCount(latest.counts[status])}</dd></div>`,
  );
  const counted = latest === undefined ? "Not counted yet." : `Counted at ${formatTime(latest.at)}.`;
  const running = progress === undefined ? "" : ` Counting: ${formatCount(progress)} so far.`;
  const button = changeForm(view, pathOf(view, "orders", "count"), html`<button>Count now</button>`);
  return html`<section class="panel" aria-labelledby="counts-title">
    <h2 id="counts-title">By status</h2>
    <dl class="counts number">${items}</dl>
    <p class="quiet small number">${counted}${running}</p>
    ${
      isMetered
        ? html`<p class="quiet small">Counting reads every order: about one read unit of DynamoDB for 8 KB, which are
      50 to 80 orders.</p>${button}`
        : ""
    }
  </section>`;
}
