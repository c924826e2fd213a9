import { html } from "hono/html";
import type { Html } from "./section.ts";

/**
 * Where a page of a table begins: after the last of these keys. The ones before it are where the pages on the way to it
 * began, so that one can go back although stores list forwards only. Empty for the first page.
 */
export type PageStarts = readonly string[];

/** With the longest keys, the address is 1.6 KB. Who goes further back than that begins with the first page. */
const MAX_STARTS = 50;

/** Reads what `pager` and `startsField` wrote. Returns `undefined` if it is something else. */
export function parseStarts(text: string, isKey: (key: string) => boolean): PageStarts | undefined {
  const starts = text === "" ? [] : text.split(",");
  return starts.length <= MAX_STARTS && starts.every(isKey) ? starts : undefined;
}

/** A field of a form that names the page of the table, so that a change returns to it. */
export function startsField(starts: PageStarts): Html {
  return html`<input type="hidden" name="list" value="${starts.join()}">`;
}

/** The links to the other pages. `next` is the last key of this page, if there are more. */
export function pager(path: string, starts: PageStarts, next: string | undefined): Html {
  if (starts.length === 0 && next === undefined) return html``;
  const link = (label: string, to: PageStarts) =>
    html`<a class="button" href="${to.length === 0 ? path : `${path}?after=${to.join()}`}">${label}</a>`;
  return html`<nav class="pager actions" aria-label="Pages">
    ${starts.length === 0 ? "" : link("First page", [])}
    ${starts.length < 2 ? "" : link("Previous page", starts.slice(0, -1))}
    ${next === undefined ? "" : link("Next page", [...starts, next].slice(-MAX_STARTS))}
  </nav>`;
}
