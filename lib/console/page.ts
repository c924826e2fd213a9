import { createHash } from "node:crypto";
import type { Context, Hono } from "hono";
import { html } from "hono/html";
import { type Environment, redactKeys } from "../accounts/api-key.ts";
import type { Clock, Instant } from "../core/time.ts";
import type { PlanTable } from "../plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS } from "../plans/windows.ts";
import type { Store } from "../stores/store.ts";
import type { DomainsContext } from "./domains/hosts.ts";

export interface ConsoleDependencies {
  readonly store: Store;
  readonly storeName: string;
  readonly isMetered: boolean;
  /** The environment segment of new keys. @default that of the store's keys; for its first key, a form asks */
  readonly environment?: Environment | undefined;
  readonly keysFor: KeysFor;
  readonly clock: Clock;
  readonly plans: PlanTable;
  readonly explain: (error: unknown) => unknown;
  readonly log: (line: string) => void;
  readonly domains?: DomainsContext | undefined;
}

/** The environment of the store's keys, as far as it has been read: once it is recorded, it stays. */
export type KeysFor = { environment?: Environment | undefined };

export type Html = ReturnType<typeof html>;

export interface View {
  readonly basePath: string;
  readonly formToken: string;
  readonly storeName: string;
  readonly keysFor: KeysFor;
  /** The navigation. `path` is the first segment of the paths of a section. */
  readonly sections: readonly { readonly path: string; readonly title: string }[];
  readonly fields: Readonly<Record<string, string>>;
  /** The query of the list from which this page was opened; empty for all of it. */
  readonly from: string;
  /** The query of the list that this page shows, if it is one. */
  readonly list?: string;
}

export type ConsoleVariables = { readonly Variables: { view: View } };

export type ConsoleApp = Hono<ConsoleVariables>;

export type ConsoleRequest<Path extends string = string> = Context<ConsoleVariables, Path>;

export function pathOf({ basePath }: Pick<View, "basePath">, ...segments: readonly string[]): string {
  return [basePath, ...segments.map(encodeURIComponent)].join("/");
}

export function withQuery(path: string, query: string): string {
  return query === "" ? path : `${path}?${query}`;
}

export interface Notice {
  readonly kind: "success" | "failure";
  /** @default by the kind */
  readonly title?: string;
  readonly message: string | Html;
}

interface Page {
  readonly title: string;
  readonly back?: string;
  readonly lead?: string | Html;
  readonly actions?: Html;
  readonly body?: Html;
  readonly notice?: Notice | undefined;
  /** True if the page changes soon: a browser without scripts asks for it again. @default false */
  readonly isRunning?: boolean;
  /** @default 200, and 422 with a notice of a failure */
  readonly status?: 200 | 404 | 422;
}

/** The script asks again and again for the page that is shown: if nothing has changed, the response is 304. */
export async function sendPage(c: ConsoleRequest, page: Page): Promise<Response> {
  const { notice, status } = page;
  const text = `${await layout(c.get("view"), c.req.path, page)}`;
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  if (c.req.method === "GET" && c.req.header("if-none-match") === etag) return c.body(null, 304, { etag });
  return c.html(text, status ?? (notice?.kind === "failure" ? 422 : 200), { etag });
}

function layout(view: View, path: string, page: Page): Html {
  const { title, back, lead, actions, notice, isRunning, body = html`` } = page;
  const links = view.sections.map(({ path: section, title: name }) => {
    const href = pathOf(view, section);
    const current = path === href || path.startsWith(`${href}/`);
    return html`<li><a href="${href}"${current ? html` aria-current="page"` : ""}>${name}</a></li>`;
  });
  const label = view.from === "" ? `All ${back}` : "Back to the list";
  const crumb =
    back && html`<a class="crumb" href="${withQuery(pathOf(view, back), view.from)}">← ${label}</a>`;
  const content = html`<body data-live>
    <a class="skip" href="#main">Skip to content</a>
    <header class="top">
      <p class="brand">Store Orders</p>
      <nav aria-label="Sections"><ul>${links}</ul></nav>
      ${searchForm(view)}
      <p class="store" title="${view.storeName}"><span class="quiet">works on</span> ${view.storeName}</p>
      ${view.keysFor.environment && html`<p class="badge calm" id="keys-for">${view.keysFor.environment} keys</p>`}
    </header>
    <p id="problem" role="alert" hidden></p>
    <template id="failure">${noticeBox({ kind: "failure", title: "", message: "" })}</template>
    <main id="main">
      <div id="result" role="status" tabindex="-1">${notice === undefined ? "" : noticeBox(notice)}</div>
      <div class="head">
        <div>${crumb}<h1>${title}</h1>${lead && html`<p>${lead}</p>`}</div>
        ${actions && html`<div class="actions">${actions}</div>`}
      </div>
      ${body}
    </main>
  </body>`;
  return documentOf(title, content, isRunning);
}

/** The search. It sends what was pasted in a body, and asks the browser to keep it nowhere: it can be a key. */
function searchForm(view: View): Html {
  const sought = "Order, account, key or domain";
  return html`<form class="search" role="search" method="post" action="${pathOf(view, "search")}">
    <input type="hidden" name="token" value="${view.formToken}">
    <input type="search" name="text" required aria-label="${sought}" placeholder="${sought}"
      autocomplete="off" autocapitalize="none" spellcheck="false">
    <button>Search</button>
  </form>`;
}

/** A titled part of a page, with its buttons. `name` is unique on the page. A table needs the layout `flush`. */
export function panel(
  name: string,
  title: string | Html,
  body: Html,
  { layout, actions }: { readonly layout?: "flush" | "flush cards"; readonly actions?: Html } = {},
): Html {
  const heading = html`<h2 id="${name}-title">${title}</h2>`;
  return html`<section class="panel ${layout ?? ""}" id="${name}" aria-labelledby="${name}-title">
    ${actions === undefined ? heading : html`<div class="head">${heading}<div class="actions">${actions}</div></div>`}
    ${body}
  </section>`;
}

/** A column of a table, with the class of its cells. The one with the title Actions shows none. */
export type Column = readonly [title: string, className?: string];

interface Row {
  /** Unique on the page. An update keeps the row in place by it. */
  readonly id: string;
  readonly cells: readonly (Html | string | number | bigint)[];
}

/** A narrow window shows neither the columns `wide` nor the actions; within `cards`, each row becomes a card there. */
export function table(columns: readonly Column[], rows: readonly Row[], empty: string | Html): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const headings = columns.map(([title, className = ""]) =>
    title === "Actions"
      ? html`<th scope="col" class="wide"><span class="sr">Actions</span></th>`
      : html`<th scope="col" class="${className}">${title}</th>`,
  );
  const cellOf = (cell: Row["cells"][number], index: number) => {
    const [title, className = ""] = columns[index] ?? [""];
    if (index === 0) return html`<th scope="row" class="${className}">${cell}</th>`;
    if (title === "Actions") return html`<td class="wide"><div class="actions">${cell}</div></td>`;
    return html`<td data-label="${title}" class="${className}">${cell}</td>`;
  };
  return html`<table>
    <thead><tr>${headings}</tr></thead>
    <tbody>${rows.map(({ id, cells }) => html`<tr id="${id}">${cells.map(cellOf)}</tr>`)}</tbody>
  </table>`;
}

export function linkRow(
  label: string,
  links: readonly (readonly [label: string, href: string | undefined, isCurrent?: boolean])[],
): Html {
  const shown = links.flatMap(([text, href, isCurrent = false]) => {
    const mark = isCurrent ? html` aria-current="true"` : "";
    return href === undefined ? [] : html`<a class="button" href="${href}"${mark}>${text}</a>`;
  });
  return shown.length === 0 ? html`` : html`<nav class="actions" aria-label="${label}">${shown}</nav>`;
}

/** The page of the item leads back to what is shown of the list. */
export function itemLink(view: View, section: string, id: string): Html {
  const from = view.list ? `${new URLSearchParams({ from: view.list })}` : "";
  return html`<a href="${withQuery(pathOf(view, section, id), from)}" title="${id}">${id}</a>`;
}

export const costOf = (what: string): Html =>
  html`<p class="quiet small">While this page is visible, it reads ${what} again every 1.5 seconds.</p>`;

/** A document. Its files have no base path, so that a page without the session can load them too. */
function documentOf(title: string, body: Html, isRunning = false): Html {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} · Store Orders</title>${isRunning ? html`\n    <noscript><meta http-equiv="refresh" content="3"></noscript>` : ""}
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/console.css">
    <script src="/idiomorph.js" defer></script>
    <script src="/console.js" type="module"></script>
  </head>
  ${body}
</html>`;
}

function noticeBox({ kind, message, title = kind === "success" ? "Done." : "Not done." }: Notice): Html {
  // Only the notice of an issued key, which is HTML, shows one.
  const text = typeof message === "string" ? redactKeys(message) : message;
  return html`<div class="notice ${kind}">
    <p><strong>${title}</strong> ${text}</p>
    <button type="button" class="plain" data-dismiss>Dismiss</button>
  </div>`;
}

/** Without the base path, because anyone on the machine can ask for it. A `live` one asks for itself again. */
export function plainPage(title: string, body: Html, live = false): Html {
  const main = html`<main id="main"><h1>${title}</h1>${body}</main>`;
  return documentOf(title, html`<body class="plain-page"${live ? html` data-live` : ""}>${main}</body>`);
}

export function formatInstant(at: Instant): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "–" : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** An instant in a few characters, with all of it on hover, or `missing`: `2 minutes ago`, `in 3 hours`, `2026-11-20`. */
export function timeOf(at: Instant | undefined, now: Instant, missing = "–"): Html {
  if (at === undefined) return html`<span class="quiet">${missing}</span>`;
  const full = formatInstant(at);
  const text = Math.abs(at - now) < DAY_MS ? relativeTime(at - now) : full.slice(0, 10);
  return html`<time title="${full}">${text}</time>`;
}

const RELATIVE = new Intl.RelativeTimeFormat("en");

function relativeTime(ms: number): string {
  const minutes = Math.trunc(ms / MINUTE_MS);
  if (minutes === 0) return ms > 0 ? "in a moment" : "just now";
  if (Math.abs(minutes) < 60) return RELATIVE.format(minutes, "minute");
  return RELATIVE.format(Math.trunc(minutes / 60), "hour");
}
