import { html } from "hono/html";
import { type Account, isActive } from "../../accounts/account.ts";
import type { Instant } from "../../clock.ts";
import { type Notice, sendPage } from "../page.ts";
import { type ConsoleContext, type ConsoleRequest, type Html, pathOf, type View } from "../section.ts";
import { formatDuration } from "../text.ts";
import { bansOf, usageOf } from "./account-usage.ts";
import { usageBar } from "./usage-bar.ts";

/** The most accounts on one page. */
const PAGE_SIZE = 50;

/** Sends the list of accounts. */
export async function sendAccountsPage(
  c: ConsoleRequest,
  { store, clock }: ConsoleContext,
  notice?: Notice,
): Promise<Response> {
  const found: Account[] = [];
  // One more, to know whether there are more.
  for await (const account of store.accounts.list()) if (found.push(account) > PAGE_SIZE) break;
  const now = clock();
  const view = c.get("view");
  const rows = found.slice(0, PAGE_SIZE).map((account) => accountRow(view, account, now));
  const body = html`<div class="head">
      <div>
        <h1>Accounts</h1>
        <p>Who may call the API, and how much of the limits is used.</p>
      </div>
    </div>
    <section class="panel flush" aria-label="All accounts">
      ${rows.length === 0 ? NO_ACCOUNTS : table(rows)}
      ${found.length > PAGE_SIZE ? html`<p class="quiet small">These are the first ${PAGE_SIZE} accounts.</p>` : ""}
    </section>`;
  return sendPage(c, { title: "Accounts", body, notice });
}

const NO_ACCOUNTS = html`<p class="empty">There is no account yet.</p>`;

function table(rows: readonly Html[]): Html {
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Account</th>
        <th scope="col">Plan</th>
        <th scope="col">This minute</th>
        <th scope="col">Today (UTC)</th>
        <th scope="col" class="right">Active keys</th>
        <th scope="col">Bans</th>
      </tr>
    </thead>
    <tbody>${rows}</tbody>
  </table>`;
}

function accountRow(view: View, account: Account, now: Instant): Html {
  const { minute, day } = usageOf(account, now);
  const active = account.keys.filter((key) => isActive(key, now)).length;
  return html`<tr id="account-${account.id}">
    <th scope="row"><a href="${pathOf(view, "accounts", account.id)}">${account.id}</a></th>
    <td data-label="Plan">${account.plan}</td>
    <td data-label="This minute">${usageBar(minute.quota, minute.used, now)}</td>
    <td data-label="Today (UTC)">${usageBar(day.quota, day.used, now)}</td>
    <td data-label="Active keys" class="right number">${active}</td>
    <td data-label="Bans">${banBadge(account, now)}</td>
  </tr>`;
}

function banBadge(account: Account, now: Instant): Html {
  const bans = bansOf(account, now);
  if (bans.length === 0) return html`<span class="quiet">none</span>`;
  const last = Math.max(...bans.map(({ until }) => until));
  const subject = bans.length === 1 ? "1 key" : `${bans.length} keys`;
  return html`<div>
    <span class="badge bad">${subject} banned</span>
    <span class="quiet small number">${formatDuration(last - now)} left</span>
  </div>`;
}
