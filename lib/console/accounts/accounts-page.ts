import { html } from "hono/html";
import type { Account } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { type AccountView, viewAccount } from "../../accounts/account-view.ts";
import { isAccountId } from "../../accounts/api-key.ts";
import { formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import { type FormResult, fieldOf, formDialog } from "../form.ts";
import {
  type ConsoleDependencies,
  type ConsoleRequest,
  costOf,
  type Html,
  itemLink,
  linkRow,
  panel,
  pathOf,
  sendPage,
  table,
  withQuery,
} from "../page.ts";
import { HIGH, planFields, planName, usageBars } from "./account-page.ts";

/** With the longest keys, the address is 1.6 KB. Who goes further back than that begins with the first page. */
const MAX_STARTS = 50;

const FILTERS = {
  all: ["All", "All accounts", "There are no more accounts."],
  banned: ["Banned", "Banned accounts", "No account has a key that is banned now."],
  limit: ["Near a limit", "Accounts near a limit", `No account has used ${HIGH * 100} % of a limit.`],
} as const satisfies Record<string, readonly [label: string, title: string, empty: string]>;

type Filter = keyof typeof FILTERS;
const FILTER_NAMES = Object.keys(FILTERS) as readonly Filter[];

export interface AccountList {
  readonly show: Filter;
  /** After which account each page begins, from the second to the shown one: stores list forwards only. */
  readonly starts: readonly string[];
}

/** Reads a query string that `formatList` wrote. Anything else is the first page of all accounts. */
export function parseList(query = ""): AccountList {
  const params = new URLSearchParams(query);
  const [show = "all", after = ""] = [params.get("show") ?? undefined, params.get("after") ?? undefined];
  const starts = after === "" ? [] : after.split(",");
  const isValid = starts.length <= MAX_STARTS && starts.every(isAccountId);
  return { show: Object.hasOwn(FILTERS, show) ? (show as Filter) : "all", starts: isValid ? starts : [] };
}

function formatList({ show, starts }: AccountList): string {
  const filter = show === "all" ? [] : [`show=${show}`];
  return [...filter, ...(starts.length === 0 ? [] : [`after=${starts.join()}`])].join("&");
}

const PAGE_SIZE = 50;

/** The most accounts that are read for a page of a filter, which takes a processor about 50 ms. */
const MAX_READ = 3_000;

async function readList(
  store: AccountStore,
  { show, starts }: AccountList,
  isShown: (account: Account) => boolean,
): Promise<{ readonly shown: readonly Account[]; readonly next?: string | undefined }> {
  const shown: Account[] = [];
  let last: string | undefined;
  // The account beyond the limit tells whether there are more.
  let left = show === "all" ? PAGE_SIZE + 1 : MAX_READ;
  for await (const account of store.list(starts.at(-1), left)) {
    left -= 1;
    if (isShown(account)) {
      if (shown.length === PAGE_SIZE) return { shown, next: last };
      shown.push(account);
    }
    last = account.id;
  }
  return left === 0 ? { shown, next: last } : { shown };
}

export async function sendAccountsPage(
  c: ConsoleRequest,
  { store, clock, plans, isMetered }: ConsoleDependencies,
  list: AccountList,
  result?: FormResult,
): Promise<Response> {
  const { show, starts } = list;
  const [after, now] = [starts.at(-1), clock()];
  const isIn = {
    all: () => true,
    banned: (known: AccountView) => bansOf(known).length > 0,
    limit: (known: AccountView) => usedPart(known) >= HIGH,
  };
  const isShown = (account: Account) => isIn[show](viewAccount(account, now, plans));
  const { shown, next } = await readList(store.accounts, list, isShown);
  const view = { ...c.get("view"), list: formatList(list) };
  const path = pathOf(view, "accounts");
  const linkTo = (to: Partial<AccountList>) => withQuery(path, formatList({ show, starts: [], ...to }));
  const pages = linkRow("Pages", [
    ["First page", starts.length === 0 ? undefined : linkTo({})],
    ["Previous page", starts.length < 2 ? undefined : linkTo({ starts: starts.slice(0, -1) })],
    ["Next page", next && linkTo({ starts: [...starts, next].slice(-MAX_STARTS) })],
  ]);
  const filters = FILTER_NAMES.map((to) => [FILTERS[to][0], linkTo({ show: to }), to === show] as const);
  const rows = shown.map((account) => {
    const { id } = account;
    const known = viewAccount(account, now, plans);
    const { minute, day } = usageBars(known, now);
    const [link, badges] = [itemLink(view, "accounts", id), badgesOf(known, now)];
    const cells = [link, planName(account, plans), minute, day, known.active.length, badges];
    return { id: `account-${id}`, cells };
  });
  const title = `${FILTERS[show][1]}${after === undefined ? "" : ` after ${after}`}`;
  const content = html`${table(COLUMNS, rows, explainEmpty(list, next))} ${pages}`;
  const body = html`${panel("table", title, content, { layout: "flush", actions: linkRow("Accounts to show", filters) })}
    ${isMetered ? costOf("every account") : ""}`;
  const lead = "Who may call the API, and how much of the limits is used.";
  const field = { name: "accountId", label: "Account ID", hint: "Lower-case letters, digits and hyphens." };
  const actions = formDialog(view, path, {
    ...{ id: "create", opener: "Create account…", isMain: true },
    ...{ title: "Create an account", confirm: "Create account" },
    fields: html`${fieldOf("create", field, result)} ${planFields("create", plans, result)}`,
  });
  const deleted = c.req.query("deleted");
  const message = `The account ${deleted} has been deleted.`;
  const notice = result?.notice ?? (deleted === undefined ? undefined : { kind: "success", message });
  return sendPage(c, { title: "Accounts", lead, actions, body, notice });
}

const COLUMNS = [
  ["Account", "name"],
  ["Plan", "wide"],
  ["This minute", "wide"],
  ["Today (UTC)"],
  ["Active keys", "right number wide"],
  ["State"],
] as const;

function explainEmpty({ show, starts }: AccountList, next: string | undefined): string {
  if (next !== undefined)
    return "No such accounts among those that were read for this page. The next page may have some.";
  if (show === "all" && starts.length === 0)
    return "There are no accounts yet. An account is a caller of the API: create one, then issue its key on its page.";
  return FILTERS[show][2];
}

function bansOf({ active }: AccountView): readonly Instant[] {
  return active.flatMap(({ bannedUntil }) => bannedUntil || []);
}

function usedPart({ limits, minute, day }: AccountView): number {
  return limits === undefined ? 0 : Math.max(minute.used / minute.limit, day.used / day.limit);
}

function badgesOf(account: AccountView, now: Instant): Html {
  const bans = bansOf(account);
  const part = usedPart(account);
  if (bans.length === 0 && part < HIGH) return html`<span class="quiet">–</span>`;
  const [level, place] = part < 1 ? ["warn", "near"] : ["bad", "at"];
  const limit = html`<span class="badge ${level}">${place} a limit</span>`;
  const subject = bans.length === 1 ? "banned" : `${bans.length} keys banned`;
  // Two badges have their place only without the seconds.
  const left = formatDuration(Math.ceil((Math.max(...bans) - now) / MINUTE_MS) * MINUTE_MS);
  const ban = html`<span class="badge bad">${subject}<span class="wide">, ${left} left</span></span>`;
  return html`${bans.length === 0 ? "" : ban} ${part < HIGH ? "" : limit}`;
}
