import { html } from "hono/html";
import { type Account, banEndAt, isActive } from "../../accounts/account.ts";
import { isAccountId } from "../../accounts/api-key.ts";
import { formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { changeForm, type FormResult, fieldOf } from "../form.ts";
import {
  type ConsoleDependencies,
  type ConsoleRequest,
  type Html,
  pager,
  panel,
  pathOf,
  sendPage,
  table,
} from "../page.ts";
import { planFields, planName, usageBars } from "./account-page.ts";

/**
 * The accounts after which the pages of the list begin, from the second page to the one that is shown. The earlier ones are
 * for going back, because stores list forwards only. Empty for the first page.
 */
type PageStarts = readonly string[];

/** With the longest keys, the address is 1.6 KB. Who goes further back than that begins with the first page. */
const MAX_STARTS = 50;

/** Reads the page of the list from an address or a form. Anything else is the first page. */
export function parseStarts(text = ""): PageStarts {
  const starts = text === "" ? [] : text.split(",");
  return starts.length <= MAX_STARTS && starts.every(isAccountId) ? starts : [];
}

/** The most accounts on one page. */
const PAGE_SIZE = 50;

export async function sendAccountsPage(
  c: ConsoleRequest,
  { store, clock, plans, traffic }: ConsoleDependencies,
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
  const path = pathOf(view, "accounts");
  const linkTo = (to: PageStarts) => (to.length === 0 ? path : `${path}?after=${to.join()}`);
  const pages = pager([
    ["First page", starts.length === 0 ? undefined : path],
    ["Previous page", starts.length < 2 ? undefined : linkTo(starts.slice(0, -1))],
    ["Next page", next === undefined ? undefined : linkTo([...starts, next].slice(-MAX_STARTS))],
  ]);
  // The forms name the page of the list, so that a change returns to it.
  const list = html`<input type="hidden" name="list" value="${starts.join()}">`;
  const rows = shown.map((account) => {
    const { id, keys } = account;
    const { minute, day } = usageBars(account, now, plans);
    const link = html`<a href="${pathOf(view, "accounts", id)}">${id}</a>`;
    const activeKeys = keys.filter((key) => isActive(key, now)).length;
    const cells = [link, planName(account, plans), minute, day, activeKeys, banBadge(account, now)];
    return { id: `account-${id}`, cells };
  });
  const nameHint = "Lower-case letters, digits and hyphens.";
  const createFields = html`${list}
    ${fieldOf("create", { name: "account", label: "Account ID", hint: nameHint }, result)}
    ${planFields("create", result, plans)}
    <div><button class="main">Create account</button></div>`;
  const openFields = html`${list}${fieldOf("open", { name: "id", label: "Account ID, or a key", hint: OPEN_HINT }, result)}
    <div><button>Open</button></div>`;
  const body = html`<div class="head">
      <div>
        <h1>Accounts</h1>
        <p>Who may call the API, and how much of the limits is used.</p>
      </div>
    </div>
    <section class="panel flush" aria-label="${after === undefined ? "The first accounts" : `Accounts after ${after}`}">
      ${table(COLUMNS, rows, `There are no ${after === undefined ? "" : "more "}accounts.`)}
      ${pages}
    </section>
    <div class="columns">
      ${panel("create", "Create an account", changeForm(view, path, createFields, "form"))}
      ${panel("open", "Open an account", changeForm(view, pathOf(view, "find-account"), openFields, "form"))}
    </div>`;
  return sendPage(c, { title: "Accounts", body, notice: result?.notice });
}

const OPEN_HINT = "A key, such as one that has leaked, leads to its account, and is in no address.";

const COLUMNS = [
  ["Account"],
  ["Plan"],
  ["This minute"],
  ["Today (UTC)"],
  ["Active keys", "right number"],
  ["Bans"],
] as const;

function banBadge(account: Account, now: Instant): Html {
  const bans = Object.values(account.rejections).flatMap((rejections) => banEndAt(rejections, now) || []);
  if (bans.length === 0) return html`<span class="quiet">none</span>`;
  const last = Math.max(...bans);
  const subject = bans.length === 1 ? "1 key" : `${bans.length} keys`;
  return html`<div>
    <span class="badge bad">${subject} banned</span>
    <span class="quiet small number">${formatDuration(last - now)} left</span>
  </div>`;
}
