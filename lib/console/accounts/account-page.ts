import { html } from "hono/html";
import type { Account } from "../../accounts/account.ts";
import { usedQuotasAt } from "../../accounts/account-usage.ts";
import { changeForm, fieldOf, type Outcome } from "../form.ts";
import { sendPage } from "../page.ts";
import { type ConsoleContext, type ConsoleRequest, type Html, pathOf } from "../section.ts";
import { keyTable } from "./key-table.ts";
import { planFields } from "./plan-fields.ts";
import { trafficChart } from "./traffic-chart.ts";
import { usageBar } from "./usage-bar.ts";

/** Sends the page of one account, after a change with its outcome. */
export async function sendAccountPage(
  c: ConsoleRequest,
  { store, clock, traffic }: ConsoleContext,
  id: string,
  outcome?: Outcome,
): Promise<Response> {
  const view = c.get("view");
  const account = await store.accounts.find(id);
  const back = html`<a class="crumb" href="${pathOf(view, "accounts")}">← All accounts</a>`;
  if (account === undefined) {
    const body = html`<div>${back}<h1>No such account</h1><p>There is no account <code>${id}</code>.</p></div>`;
    return sendPage(c, { title: "No such account", body, notice: outcome?.notice, status: 404 });
  }
  traffic.record(account);
  const now = clock();
  const action = (name: string) => pathOf(view, "accounts", id, name);
  const expires = {
    name: "expires",
    label: "Expires",
    type: "date",
    hint: "Optional; at 00:00 UTC of this day.",
  };
  const body = html`<div class="head">
      <div>${back}<h1>${id}</h1><p>Plan ${account.plan}</p></div>
    </div>
    <div class="columns">
      ${usagePanel(account, now)}
      <section class="panel" aria-labelledby="plan-title">
        <h2 id="plan-title">Plan</h2>
        <p class="quiet small">Takes effect at the next request. What has been counted stays counted.</p>
        ${changeForm(view, action("plan"), html`${planFields("plan", outcome, account)}<div><button class="main">Change plan</button></div>`, "form")}
      </section>
    </div>
    <section class="panel" aria-labelledby="traffic-title">
      <h2 id="traffic-title">Last hour</h2>
      ${trafficChart(traffic.lastHour(id))}
      <p class="quiet small">The store holds the counters of the current windows only, so this shows what the console has seen
        since it was started. Rejections are counted as far as the store counts them.</p>
    </section>
    <section class="panel flush" aria-labelledby="keys-title">
      <div class="head">
        <h2 id="keys-title">Keys</h2>
        ${changeForm(view, action("keys"), html`${fieldOf("issue", expires, outcome)}<button class="main">Issue key</button>`, "form row")}
      </div>
      ${keyTable(view, account, now)}
    </section>`;
  return sendPage(c, { title: id, body, notice: outcome?.notice });
}

function usagePanel(account: Account, now: number): Html {
  const { minute, day } = usedQuotasAt(account, now);
  return html`<section class="panel" aria-labelledby="usage-title">
    <h2 id="usage-title">Usage</h2>
    <div><h3>This minute</h3>${usageBar(minute, now)}</div>
    <div><h3>Today (UTC)</h3>${usageBar(day, now)}</div>
  </section>`;
}
