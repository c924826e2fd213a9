import { html } from "hono/html";
import { type Account, isActive } from "../../accounts/account.ts";
import { isAccountId } from "../../accounts/api-key.ts";
import { formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import type { PlanTable } from "../../plans/plan-limits.ts";
import { changeForm, type FormResult, fieldOf } from "../form.ts";
import { type ConsoleContext, type ConsoleRequest, type Html, pathOf, sendPage, type View } from "../page.ts";
import { planFields, planName, usageBars } from "./account.ts";

/**
 * The accounts after which the pages of the list begin, from the second page to the one that is shown. The earlier ones are
 * for going back, because stores list forwards only. Empty for the first page.
 */
export type PageStarts = readonly string[];

/** With the longest keys, the address is 1.6 KB. Who goes further back than that begins with the first page. */
const MAX_STARTS = 50;

/** Reads the page of the list from an address or a form. Anything else is the first page. */
export function parseStarts(text = ""): PageStarts {
  const starts = text === "" ? [] : text.split(",");
  return starts.length <= MAX_STARTS && starts.every(isAccountId) ? starts : [];
}

/** A field of a form that names the page of the table, so that a change returns to it. */
function startsField(starts: PageStarts): Html {
  return html`<input type="hidden" name="list" value="${starts.join()}">`;
}

/** The links to the other pages. `next` is the last key of this page, if there are more. */
function pager(path: string, starts: PageStarts, next: string | undefined): Html {
  if (starts.length === 0 && next === undefined) return html``;
  const link = (label: string, to: PageStarts) =>
    html`<a class="button" href="${to.length === 0 ? path : `${path}?after=${to.join()}`}">${label}</a>`;
  return html`<nav class="pager actions" aria-label="Pages">
    ${starts.length === 0 ? "" : link("First page", [])}
    ${starts.length < 2 ? "" : link("Previous page", starts.slice(0, -1))}
    ${next === undefined ? "" : link("Next page", [...starts, next].slice(-MAX_STARTS))}
  </nav>`;
}

/** The most accounts on one page. */
const PAGE_SIZE = 50;

/** Sends one page of the list of accounts. */
export async function sendAccountsPage(
  c: ConsoleRequest,
  { store, clock, plans, traffic }: ConsoleContext,
  starts: PageStarts,
  result?: FormResult,
): Promise<Response> {
  const after = starts.at(-1);
  // One more, to know whether there are more.
  const found: Account[] = [];
  for await (const account of store.accounts.list(after, PAGE_SIZE + 1)) found.push(account);
  const shown = found.slice(0, PAGE_SIZE);
  for (const account of shown) traffic.record(account);
  const now = clock();
  const view = c.get("view");
  const next = found.length > PAGE_SIZE ? shown.at(-1)?.id : undefined;
  const list = startsField(starts);
  const rows = shown.map((account) => accountRow(view, account, now, plans));
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
        ${changeForm(view, pathOf(view, "accounts"), html`${list}${createFields(result, plans)}`, "form")}
      </section>
      <section class="panel" aria-labelledby="open-title">
        <h2 id="open-title">Open an account</h2>
        ${changeForm(view, pathOf(view, "find-account"), html`${list}${fieldOf("open", { name: "id", label: "Account ID" }, result)}<div><button>Open</button></div>`, "form")}
      </section>
    </div>`;
  return sendPage(c, { title: "Accounts", body, notice: result?.notice });
}

function createFields(result: FormResult | undefined, plans: PlanTable | undefined): Html {
  const hint = "Lower-case letters, digits and hyphens.";
  return html`${fieldOf("create", { name: "account", label: "Account ID", hint }, result)}
    ${planFields("create", result, plans)}
    <div><button class="main">Create account</button></div>`;
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

function accountRow(view: View, account: Account, now: Instant, plans?: PlanTable): Html {
  const { minute, day } = usageBars(account, now, plans);
  const active = account.keys.filter((key) => isActive(key, now)).length;
  return html`<tr id="account-${account.id}">
    <th scope="row"><a href="${pathOf(view, "accounts", account.id)}">${account.id}</a></th>
    <td data-label="Plan">${planName(account, plans)}</td>
    <td data-label="This minute">${minute}</td>
    <td data-label="Today (UTC)">${day}</td>
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
