import { html } from "hono/html";
import { type Account, isActive } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { usedQuotasAt } from "../../accounts/account-usage.ts";
import type { Instant } from "../../clock.ts";
import { changeForm, fieldOf, type Outcome } from "../form.ts";
import { sendPage } from "../page.ts";
import { type PageStarts, pager, startsField } from "../pager.ts";
import { type ConsoleContext, type ConsoleRequest, type Html, pathOf, type View } from "../section.ts";
import { formatDuration } from "../text.ts";
import { planFields } from "./plan-fields.ts";
import { usageBar } from "./usage-bar.ts";

/** The most accounts on one page. */
const PAGE_SIZE = 50;

/** Sends one page of the list of accounts. */
export async function sendAccountsPage(
  c: ConsoleRequest,
  { store, clock, traffic }: ConsoleContext,
  starts: PageStarts,
  outcome?: Outcome,
): Promise<Response> {
  const after = starts.at(-1);
  // One more, to know whether there are more.
  const found = await readAccounts(store.accounts, after, PAGE_SIZE + 1);
  const shown = found.slice(0, PAGE_SIZE);
  for (const account of shown) traffic.record(account);
  const now = clock();
  const view = c.get("view");
  const next = found.length > PAGE_SIZE ? shown.at(-1)?.id : undefined;
  const list = startsField(starts);
  const rows = shown.map((account) => accountRow(view, account, now));
  const body = html`<div class="head">
      <div>
        <h1>Accounts</h1>
        <p>Who may call the API, and how much of the limits is used.</p>
      </div>
    </div>
    <section class="panel flush" aria-label="${after === undefined ? "The first accounts" : `Accounts after ${after}`}">
      ${rows.length === 0 ? html`<p class="empty">There are no ${after === undefined ? "" : "more "}accounts.</p>` : table(rows)}
      ${pager(pathOf(view, "accounts"), starts, next)}
    </section>
    <div class="columns">
      <section class="panel" aria-labelledby="create-title">
        <h2 id="create-title">Create an account</h2>
        ${changeForm(view, pathOf(view, "accounts"), html`${list}${createFields(outcome)}`, "form")}
      </section>
      <section class="panel" aria-labelledby="open-title">
        <h2 id="open-title">Open an account</h2>
        ${changeForm(view, pathOf(view, "find-account"), html`${list}${fieldOf("open", { name: "id", label: "Account ID" }, outcome)}<div><button>Open</button></div>`, "form")}
      </section>
    </div>`;
  return sendPage(c, { title: "Accounts", body, notice: outcome?.notice });
}

function createFields(outcome: Outcome | undefined): Html {
  const hint = "Lower-case letters, digits and hyphens.";
  return html`${fieldOf("create", { name: "account", label: "Account ID", hint }, outcome)}
    ${planFields("create", outcome)}
    <div><button class="main">Create account</button></div>`;
}

/** The first accounts after an identifier. The store lists all of them: accounts are few. */
async function readAccounts(
  store: AccountStore,
  after: string | undefined,
  limit: number,
): Promise<readonly Account[]> {
  const found: Account[] = [];
  for await (const account of store.list()) {
    if (after !== undefined && account.id <= after) continue;
    if (found.push(account) === limit) break;
  }
  return found;
}

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
  const { minute, day } = usedQuotasAt(account, now);
  const active = account.keys.filter((key) => isActive(key, now)).length;
  return html`<tr id="account-${account.id}">
    <th scope="row"><a href="${pathOf(view, "accounts", account.id)}">${account.id}</a></th>
    <td data-label="Plan">${account.plan}</td>
    <td data-label="This minute">${usageBar(minute, now)}</td>
    <td data-label="Today (UTC)">${usageBar(day, now)}</td>
    <td data-label="Active keys" class="right number">${active}</td>
    <td data-label="Bans">${banBadge(account, now)}</td>
  </tr>`;
}

function banBadge(account: Account, now: Instant): Html {
  const bans = Object.values(account.rejections).filter(({ bannedUntil = 0 }) => bannedUntil > now);
  if (bans.length === 0) return html`<span class="quiet">none</span>`;
  const last = Math.max(...bans.map(({ bannedUntil = 0 }) => bannedUntil));
  const subject = bans.length === 1 ? "1 key" : `${bans.length} keys`;
  return html`<div>
    <span class="badge bad">${subject} banned</span>
    <span class="quiet small number">${formatDuration(last - now)} left</span>
  </div>`;
}
