import { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { errorMessage, isStoreUnavailable } from "../errors.ts";
import { accountsSection } from "./accounts/accounts-section.ts";
import { assetOf } from "./assets.ts";
import { domainsSection } from "./domains/domains-section.ts";
import { ordersSection } from "./orders/orders-section.ts";
import { entryPage, HOW_TO_GET_A_LINK, plainPage } from "./plain-page.ts";
import { isShortForm, readForm } from "./read-form.ts";
import { checkRequest, type GuardProblem } from "./request-guard.ts";
import type { ConsoleApp, ConsoleContext, Section } from "./section.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";
import type { Session } from "./session.ts";

/** The navigation, in its order. */
const SECTIONS: readonly Section[] = [accountsSection, ordersSection, domainsSection];

/** What the console needs besides its context. */
export interface AppOptions {
  readonly session: Session;
  /** The port, once the server listens. */
  readonly port: () => number;
  /** Replaces an error of the store by one that names the fix. */
  readonly explain: (error: unknown) => unknown;
  /** Is called for each request with the session, with the bindings of the adapter. */
  readonly onSession: (bindings: unknown) => void;
  /** Writes a line for the operator. */
  readonly log: (line: string) => void;
}

/** Creates the console as a function from `Request` to `Response`. */
export function createConsoleApp(
  context: ConsoleContext,
  { session, port, explain, onSession, log }: AppOptions,
): ConsoleApp {
  const { basePath } = session;
  const app: ConsoleApp = new Hono();

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value);
    const header = (name: string) => c.req.header(name);
    // A request line may name another host than the header.
    const host = new URL(c.req.url).host === header("host") ? header("host") : undefined;
    const origin = { host, origin: header("origin"), fetchSite: header("sec-fetch-site") };
    const isEntry = c.req.path === `${basePath}/start`;
    const problem = checkRequest({ method: c.req.method, ...origin }, port(), isEntry);
    if (problem === undefined) return next();
    return c.html(
      plainPage("Not allowed", html`<p>${PROBLEMS[problem]}</p>`),
      problem === "wrong_method" ? 405 : 403,
    );
  });
  app.use((c, next) =>
    c.req.method !== "POST" || isShortForm(c.req.header("content-length"))
      ? next()
      : Promise.resolve(
          c.html(plainPage("Too large", html`<p>The form is larger than 64 KiB, or has no length.</p>`), 413),
        ),
  );

  app.get(`${basePath}/start`, (c) => c.html(entryPage(basePath)));
  app.get(`/:name{console\\.(?:css|js)|idiomorph\\.js}`, async (c) => {
    const { type, content } = await assetOf(c.req.param("name"));
    return c.body(content, 200, { "content-type": type });
  });
  app.post(`${basePath}/session`, async (c) => {
    const { token = "" } = await readForm(c);
    const cookie = session.redeem(token);
    if (cookie === undefined) return c.html(plainPage("This link has been used", USED_LINK), 403);
    setCookie(c, cookieName(), cookie, { path: `${basePath}/`, httpOnly: true, sameSite: "Strict" });
    return c.body(null, 204);
  });

  app.use(async (c, next) => {
    if (!session.ownsCookie(getCookie(c, cookieName())))
      return c.html(
        plainPage("No access", html`<p>This browser has no session of the console.</p>${HOW_TO_GET_A_LINK}`),
        401,
      );
    onSession(c.env);
    const isChange = c.req.method === "POST";
    const fields = isChange ? await readForm(c) : {};
    if (isChange && !session.ownsForm(fields["token"]))
      return c.html(plainPage("Not allowed", WRONG_FORM), 403);
    const { formToken } = session;
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
        plainPage("The store cannot be reached", html`<p data-problem>${errorMessage(explained)}</p>`),
        503,
      );
    log(`error: ${errorMessage(explained)}`);
    return c.html(
      plainPage("The console failed", html`<p data-problem>The console failed; its terminal shows why.</p>`),
      500,
    );
  });
  return app;

  function cookieName(): string {
    return `store-orders-console-${port()}`;
  }
}

const PROBLEMS: Readonly<Record<GuardProblem, string>> = {
  wrong_host: "The console is served only as 127.0.0.1 or localhost, with its port.",
  wrong_origin: "The console answers only requests of its own pages.",
  wrong_method: "The console knows only GET, HEAD and POST.",
};

const USED_LINK = html`<p>The link works once, and this one has been used. If it was not you, stop the console now.</p>
  ${HOW_TO_GET_A_LINK}`;

const WRONG_FORM = html`<p>The form does not belong to this session. Reload its page and try again.</p>`;
