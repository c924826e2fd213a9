import { html } from "hono/html";
import { documentHead } from "./page.ts";
import type { Html } from "./section.ts";

/**
 * A page outside the session: the entry, and every error. Anyone on the machine can ask for an error, so it does not
 * contain the base path: that would tell another server where the browser sends the cookie.
 */
export function plainPage(title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
  <head>${documentHead(title)}</head>
  <body class="plain-page">
    <main id="main">
      <h1>${title}</h1>
      ${body}
    </main>
  </body>
</html>`;
}

/** What to do without a session. */
export const HOW_TO_GET_A_LINK = html`<p>Stop the console with Ctrl-C in its terminal, run <code>store-orders console</code>
  again, and open the link that it prints. Each link works once, in one browser.</p>`;

/** The page that the link opens. Its script sends the token, which is behind the `#` and so in no request's address. */
export function entryPage(basePath: string): Html {
  return plainPage(
    "Opening the console",
    html`<div id="entry" data-action="${basePath}/session" data-next="${basePath}/">
      <p>One moment.</p>
    </div>
    <noscript><p>The console needs JavaScript.</p></noscript>`,
  );
}
