import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { html } from "hono/html";
import { errorMessage, isStoreUnavailable } from "../core/errors.ts";
import { listen } from "../node/listen.ts";
import { createSession, ownPagesOnly, securityHeaders, smallFormsOnly } from "./access.ts";
import { addAccountPages } from "./accounts/accounts.ts";
import { addDomainPages } from "./domains/domains.ts";
import { type DomainsOptions, openDomains } from "./domains/hosts.ts";
import { addOrderPages } from "./orders/orders.ts";
import { type ConsoleApp, type ConsoleDependencies, type KeysFor, plainPage } from "./page.ts";
import { addSearch } from "./search.ts";

const SECTIONS = [
  { path: "accounts", title: "Accounts", add: addAccountPages },
  { path: "orders", title: "Orders", add: addOrderPages },
  { path: "domains", title: "Domains", add: addDomainPages },
] as const;

/** The only address that the console listens on: nobody else can reach it. */
export const LOOPBACK = "127.0.0.1";

export interface ConsoleOptions extends Omit<ConsoleDependencies, "domains" | "keysFor"> {
  readonly domains?: DomainsOptions;
  readonly port: number;
}

export interface RunningConsole {
  /** Opens the console, once. Whoever has it gets the session: it must not be logged. */
  readonly link: string;
  close(): Promise<void>;
}

export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { storeName, explain, log } = options;
  const app: ConsoleApp = new Hono();
  const server = createAdaptorServer({
    fetch: app.fetch,
    // Otherwise the global Request and Response are replaced, also for the code around the console.
    overrideGlobalObjects: false,
    serverOptions: { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 30_000 },
  }) as Server;
  const origin = await listen(server, options.port, LOOPBACK);
  const sections = SECTIONS.filter(({ path }) => path !== "domains" || options.domains !== undefined);
  const keysFor: KeysFor = {};
  const recorded = options.store.accounts.findEnvironment();
  void recorded.then((environment) => (keysFor.environment ??= environment)).catch(() => {});
  const session = createSession(new URL(origin).port, { storeName, sections, keysFor });
  const { basePath } = session;

  app.use(securityHeaders, ownPagesOnly(basePath), smallFormsOnly);
  // The page that the link opens. Its script sends the token, which is behind the `#` and so in no request's address.
  const entry = html`<div id="entry" data-action="${basePath}/session" data-next="${basePath}/"><p>One moment.</p></div>
    <noscript><p>The console needs JavaScript.</p></noscript>`;
  app.get(`${basePath}/start`, (c) => c.html(plainPage("Opening the console", entry)));
  for (const [path, [type, content]] of Object.entries(ASSETS))
    app.get(path, (c) => c.body(content, 200, { "content-type": `${type}; charset=utf-8` }));
  app.post(`${basePath}/session`, session.start);
  app.use(session.membersOnly);
  app.get(`${basePath}/`, (c) => c.redirect(`${basePath}/${SECTIONS[0].path}`));
  const pages: ConsoleApp = app.basePath(basePath);
  const domains = options.domains && openDomains(options.domains, options.clock);
  const dependencies = { ...options, domains, keysFor };
  for (const section of sections) section.add(pages, dependencies);
  addSearch(pages, dependencies);
  app.notFound((c) => {
    const problem = html`<p>There is no such page. <a href="${basePath}/">To the console</a></p>`;
    return c.html(plainPage("Not found", problem), 404);
  });
  app.onError((thrown, c) => {
    const error = explain(thrown);
    if (isStoreUnavailable(error)) {
      const problem = html`<p data-problem>${errorMessage(error)}</p>`;
      return c.html(plainPage("The store cannot be reached", problem, true), 503);
    }
    log(`error: ${errorMessage(error)}`);
    const problem = html`<p data-problem>The console failed; its terminal shows why.</p>`;
    return c.html(plainPage("The console failed", problem, true), 500);
  });

  return {
    link: `${origin}${basePath}/start#${session.linkToken}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Merges a new page into the one that is shown. The build puts the content of each file into the place of its call. */
const IDIOMORPH = readFileSync(
  new URL("../../node_modules/idiomorph/dist/idiomorph.min.js", import.meta.url),
  "utf8",
);

const ASSETS: Readonly<Record<string, readonly [type: string, content: string]>> = {
  "/console.css": ["text/css", readFileSync(new URL("./assets/console.css", import.meta.url), "utf8")],
  "/console.js": ["text/javascript", readFileSync(new URL("./assets/console.js", import.meta.url), "utf8")],
  "/idiomorph.js": ["text/javascript", IDIOMORPH],
};
