import { createHash } from "node:crypto";
import { html } from "hono/html";
import { type ConsoleRequest, type Html, pathOf, type View } from "./section.ts";

/** What happened to a change, above the page. */
export interface Notice {
  readonly kind: "success" | "failure";
  readonly message: string | Html;
}

/** One page of the console. */
export interface Page {
  readonly title: string;
  readonly body: Html;
  readonly notice?: Notice | undefined;
  /** @default 200, and 422 with a notice of a failure */
  readonly status?: 200 | 404 | 422;
}

/**
 * Sends a page. The script asks again for the page that is shown; if nothing has changed, the response is 304 without a
 * body.
 */
export async function sendPage(c: ConsoleRequest, page: Page): Promise<Response> {
  const { notice, status } = page;
  const text = `${await layout(c.get("view"), c.req.path, page)}`;
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  if (c.req.method === "GET" && c.req.header("if-none-match") === etag) return c.body(null, 304, { etag });
  return c.html(text, status ?? (notice?.kind === "failure" ? 422 : 200), { etag });
}

function layout(view: View, path: string, { title, notice, body }: Page): Html {
  const links = view.sections.map(({ path: section, title: name }) => {
    const href = pathOf(view, section);
    const current = path === href || path.startsWith(`${href}/`);
    return html`<li><a href="${href}"${current ? html` aria-current="page"` : ""}>${name}</a></li>`;
  });
  return html`<!doctype html>
<html lang="en">
  <head>${documentHead(title)}</head>
  <body data-live>
    <a class="skip" href="#main">Skip to content</a>
    <header class="top">
      <p class="brand">Store Orders</p>
      <nav aria-label="Sections"><ul>${links}</ul></nav>
      <p class="store"><span class="quiet">works on</span> ${view.storeName}</p>
    </header>
    <p id="problem" role="alert" hidden></p>
    <main id="main">
      <div id="result" role="status" tabindex="-1">${notice === undefined ? "" : noticeBox(notice)}</div>
      ${body}
    </main>
  </body>
</html>`;
}

/** The content of `head`. The files have no base path, so that a page without the session can load them too. */
export function documentHead(title: string): Html {
  return html`
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} · Store Orders</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/console.css">
    <script src="/idiomorph.js" defer></script>
    <script src="/console.js" defer></script>`;
}

function noticeBox({ kind, message }: Notice): Html {
  return html`<div class="notice ${kind}">
    <p><strong>${kind === "success" ? "Done." : "Not done."}</strong> ${message}</p>
    <button type="button" class="plain" data-dismiss>Dismiss</button>
  </div>`;
}
