/**
 * The console: a page for the operator of a store, on the operator's own machine.
 *
 * ```ts
 * const server = await startConsole({ store, storeName: "orders.db", environment: "test", … });
 * console.log(server.link);
 * ```
 */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { errorMessage, isStoreUnavailable } from "../core/errors.ts";
import {
  type AccessProblem,
  checkRequest,
  createSession,
  limitConnections,
  type Redemption,
  SECURITY_HEADERS,
  type Session,
} from "./access.ts";
import { accountsSection } from "./accounts/accounts.ts";
import { createTrafficSampler } from "./accounts/traffic.ts";
import { domainsSection } from "./domains/domains.ts";
import { ordersSection } from "./orders/orders.ts";
import { type ConsoleApp, type ConsoleContext, type Html, plainPage, type Section } from "./page.ts";

/** The navigation, in its order. */
const SECTIONS: readonly Section[] = [accountsSection, ordersSection, domainsSection];

/** The only address that the console listens on: nobody else can reach it. */
export const LOOPBACK = "127.0.0.1";

/** One sample per minute and account is enough; with three, a slow one does not leave a gap. */
const SAMPLE_INTERVAL_MS = 20_000;

/** Options of `startConsole`. */
export interface ConsoleOptions extends Omit<ConsoleContext, "traffic"> {
  /** The port to listen on; 0 chooses a free one. */
  readonly port: number;
  /** Replaces an error of the store by one that names the fix. */
  readonly explain: (error: unknown) => unknown;
  /** Writes a line for the operator. */
  readonly log: (line: string) => void;
}

/** A running console. */
export interface RunningConsole {
  /** Opens the console, once. Whoever has it gets the session: it must not be logged. */
  readonly link: string;
  /** Ends the session and every connection. */
  close(): Promise<void>;
}

/** Starts the console on the loopback address. Rejects if the port is in use. */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const session = createSession();
  const traffic = createTrafficSampler(options.store.accounts, options.clock);
  const app: ConsoleApp = new Hono();
  const server = createAdaptorServer({
    fetch: app.fetch,
    // Otherwise the global Request and Response are replaced, also for the code around the console.
    overrideGlobalObjects: false,
    serverOptions: { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 30_000 },
  }) as Server;
  const keep = limitConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port, LOOPBACK, resolve);
  });
  const { port } = server.address() as AddressInfo;
  addRoutes(app, { ...options, traffic, port }, session, ({ incoming }) => keep(incoming.socket));
  // A store that cannot be reached is a gap in the chart; the page reports it.
  const sampling = setInterval(() => traffic.sample().catch(() => {}), SAMPLE_INTERVAL_MS);
  return {
    link: `http://${LOOPBACK}:${port}${session.basePath}/start#${session.linkToken}`,
    close: () =>
      new Promise((resolve) => {
        clearInterval(sampling);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function addRoutes(
  app: ConsoleApp,
  { port, explain, log, ...context }: ConsoleOptions & ConsoleContext,
  session: Session,
  onSession: (bindings: HttpBindings) => void,
): void {
  const { basePath, formToken } = session;
  const cookieName = `store-orders-console-${port}`;

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value);
    const header = (name: string) => c.req.header(name);
    // A request line may name another host than the header.
    const host = new URL(c.req.url).host === header("host") ? header("host") : undefined;
    const origin = { host, origin: header("origin"), fetchSite: header("sec-fetch-site") };
    const isEntry = c.req.path === `${basePath}/start`;
    const problem = checkRequest({ method: c.req.method, ...origin }, port, isEntry);
    if (problem === undefined) return next();
    const status = problem === "wrong_method" ? 405 : 403;
    return c.html(plainPage("Not allowed", html`<p>${PROBLEMS[problem]}</p>`), status);
  });
  app.use(async (c, next) => {
    // Browsers always send the length.
    const length = c.req.header("content-length");
    if (c.req.method !== "POST" || (length !== undefined && Number(length) <= MAX_FORM_BYTES)) return next();
    return c.html(
      plainPage("Too large", html`<p>The form is larger than 64 KiB, or has no length.</p>`),
      413,
    );
  });

  app.get(`${basePath}/start`, (c) => c.html(entryPage(basePath)));
  for (const [path, { type, content }] of Object.entries(ASSETS)) {
    app.get(path, (c) => c.body(content, 200, { "content-type": `${type}; charset=utf-8` }));
  }
  app.post(`${basePath}/session`, async (c) => {
    // The browser that has the session can open any link again, such as one in its history.
    if (session.ownsCookie(getCookie(c, cookieName))) return c.body(null, 204);
    const { token = "" } = await readForm(c);
    const redeemed = session.redeem(token);
    if (!redeemed.ok) return c.html(LINK_PROBLEMS[redeemed.code], 403);
    setCookie(c, cookieName, redeemed.cookie, { path: `${basePath}/`, httpOnly: true, sameSite: "Strict" });
    return c.body(null, 204);
  });

  app.use(async (c, next) => {
    if (!session.ownsCookie(getCookie(c, cookieName)))
      return c.html(
        plainPage(
          "No access",
          html`<p>This browser has no session of the console. If a link led here, open the whole link that the
          console has printed.</p>${HOW_TO_GET_A_LINK}`,
        ),
        401,
      );
    onSession(c.env as HttpBindings);
    const isChange = c.req.method === "POST";
    const fields = isChange ? await readForm(c) : {};
    if (isChange && !session.ownsForm(fields["token"]))
      return c.html(plainPage("Not allowed", WRONG_FORM), 403);
    c.set("view", { basePath, formToken, storeName: context.storeName, sections: SECTIONS, fields });
    return next();
  });
  app.get(`${basePath}/`, (c) => c.redirect(`${basePath}/${SECTIONS[0]?.path}`));
  const pages: ConsoleApp = app.basePath(basePath);
  for (const section of SECTIONS) section.add(pages, context);

  app.notFound((c) =>
    c.html(
      plainPage("Not found", html`<p>There is no such page. <a href="${basePath}/">To the console</a></p>`),
      404,
    ),
  );
  app.onError((error, c) => {
    const explained = explain(error);
    if (isStoreUnavailable(explained))
      return c.html(
        plainPage("The store cannot be reached", html`<p data-problem>${errorMessage(explained)}</p>`, true),
        503,
      );
    log(`error: ${errorMessage(explained)}`);
    return c.html(
      plainPage(
        "The console failed",
        html`<p data-problem>The console failed; its terminal shows why.</p>`,
        true,
      ),
      500,
    );
  });
}

const SCRIPT = readFileSync(new URL("./assets/console.js", import.meta.url), "utf8");
const STYLE = readFileSync(new URL("./assets/console.css", import.meta.url), "utf8");
/** Merges a new page into the one that is shown. */
const IDIOMORPH = readFileSync(
  new URL("../../node_modules/idiomorph/dist/idiomorph.min.js", import.meta.url),
  "utf8",
);

/** The files that every page loads, by their paths. */
const ASSETS = {
  "/console.css": { type: "text/css", content: STYLE },
  "/console.js": { type: "text/javascript", content: SCRIPT },
  "/idiomorph.js": { type: "text/javascript", content: IDIOMORPH },
};

/** The largest form of the console is a few hundred bytes. */
const MAX_FORM_BYTES = 64 * 1024;

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:;|$)/i;

/** Reads the fields of a form. A body that is not a form, or ends early, has none, and so no token. */
async function readForm({ req }: Context): Promise<Readonly<Record<string, string>>> {
  if (!FORM_TYPE.test(req.header("content-type") ?? "")) return {};
  return Object.fromEntries(new URLSearchParams(await req.text().catch(() => "")));
}

/** The page that the link opens. Its script sends the token, which is behind the `#` and so in no request's address. */
function entryPage(basePath: string): Html {
  return plainPage(
    "Opening the console",
    html`<div id="entry" data-action="${basePath}/session" data-next="${basePath}/">
      <p>One moment.</p>
    </div>
    <noscript><p>The console needs JavaScript.</p></noscript>`,
  );
}

const HOW_TO_GET_A_LINK = html`<p>Stop the console with Ctrl-C in its terminal, run <code>store-orders console</code>
  again, and open the link that it prints. Each link works once, in one browser.</p>`;

const LINK_PROBLEMS = {
  wrong_link: plainPage(
    "This link is incomplete",
    html`<p>Open the whole link that the console has printed, with all that follows the <code>#</code>. If it leads here
      again, it is the link of another console.</p>`,
  ),
  used_link: plainPage(
    "This link has been used",
    html`<p>The link works once, and another browser has used this one. If it was not you, stop the console now.</p>
      ${HOW_TO_GET_A_LINK}`,
  ),
} as const satisfies Record<Extract<Redemption, { ok: false }>["code"], Html>;

const PROBLEMS: Readonly<Record<AccessProblem, string>> = {
  wrong_host: "The console is served only as 127.0.0.1 or localhost, with its port.",
  wrong_origin: "The console answers only requests of its own pages.",
  wrong_method: "The console knows only GET, HEAD and POST.",
};

const WRONG_FORM = html`<p>The form does not belong to this session. Reload its page and try again.</p>`;
