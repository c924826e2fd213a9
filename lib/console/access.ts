import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Context, Handler, MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { redactKeys } from "../accounts/api-key.ts";
import { PAGE_HEADERS } from "../http/page-headers.ts";
import { type ConsoleVariables, plainPage, type View } from "./page.ts";

export const securityHeaders: MiddlewareHandler = async (c, next) => {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) c.header(name, value);
  c.header("cache-control", "no-store");
  return next();
};

/** Rejects every request that another page may have made. Any may link to the entry, which contains nothing. */
export function ownPagesOnly(basePath: string): MiddlewareHandler {
  const reject = (c: Context, reason: string, status: 403 | 405 = 403) =>
    c.html(plainPage("Not allowed", html`<p>${reason}</p>`), status);
  return async (c, next) => {
    const { method, path, url } = c.req;
    const host = c.req.header("host") ?? "";
    // A DNS name that points at 127.0.0.1 would let the page of that name read the console. The port can be another one than
    // ours: SSH forwards it from another machine. No page chooses it, since browsers send the one that they connect to.
    const isLoopback = /^(?:127\.0\.0\.1|localhost)(?::\d{1,5})?$/.test(host);
    // A request line may name another host than the header.
    if (!isLoopback || new URL(url).host !== host)
      return reject(c, "The console is served only as 127.0.0.1 or localhost.");
    if (!["GET", "HEAD", "POST"].includes(method))
      return reject(c, "The console knows only GET, HEAD and POST.", 405);
    // The relation to the page that sent the request. Browsers do not let a page choose it.
    const site = c.req.header("sec-fetch-site") ?? "same-origin";
    const isOwn =
      method === "POST"
        ? site === "same-origin" && c.req.header("origin") === `http://${host}`
        : // `none`: typed, or opened from outside the browser.
          site === "same-origin" || site === "none" || path === `${basePath}/start`;
    return isOwn ? next() : reject(c, "The console answers only requests of its own pages.");
  };
}

/** The largest form of the console is a few hundred bytes. */
const MAX_FORM_BYTES = 64 * 1024;

/** Rejects a form that is too large, or has no length, which browsers always send. */
export const smallFormsOnly: MiddlewareHandler = async (c, next) => {
  const length = c.req.header("content-length");
  if (c.req.method !== "POST" || (length !== undefined && Number(length) <= MAX_FORM_BYTES)) return next();
  const problem = html`<p>The form is larger than 64 KiB, or has no length.</p>`;
  return c.html(plainPage("Too large", problem), 413);
};

export function createSession(port: string, view: Pick<View, "storeName" | "sections" | "keysFor">) {
  /** Browsers send a cookie to every port of a host, this one only below its path, which no other server here knows. */
  const basePath = `/${randomBytes(12).toString("base64url")}`;
  const [linkToken, formToken, cookie] = [newSecret(), newSecret(), newSecret()];
  const cookieName = `store-orders-console-${port}`;
  let isRedeemed = false;
  const isMember = (c: Context) => isRedeemed && isEqual(getCookie(c, cookieName), cookie);

  const start: Handler = async (c) => {
    // The browser that has the session can open any link again, such as one in its history.
    if (isMember(c)) return c.body(null, 204);
    const { token } = await readForm(c);
    if (!isEqual(token, linkToken)) return c.html(INCOMPLETE_LINK, 403);
    if (isRedeemed) return c.html(USED_LINK, 403);
    isRedeemed = true;
    setCookie(c, cookieName, cookie, { path: `${basePath}/`, httpOnly: true, sameSite: "Strict" });
    return c.body(null, 204);
  };

  /** Rejects requests without the cookie, and changes without the token, so that no other page can make one. */
  const membersOnly: MiddlewareHandler<ConsoleVariables> = async (c, next) => {
    if (!isMember(c)) return c.html(NO_ACCESS, 401);
    const isChange = c.req.method === "POST";
    const fields = isChange ? await readForm(c) : {};
    if (isChange && !isEqual(fields["token"], formToken)) return c.html(WRONG_FORM, 403);
    const from = redactKeys(fields["from"] ?? c.req.query("from") ?? "");
    c.set("view", { ...view, basePath, formToken, fields, from });
    return next();
  };

  return { basePath, linkToken, start, membersOnly };
}

const HOW_TO_GET_A_LINK = html`<p>Stop the console with Ctrl-C in its terminal, run <code>store-orders console</code>
  again, and open the link that it prints. Each link works once, in one browser.</p>`;

const NO_ACCESS = plainPage(
  "No access",
  html`<p>This browser has no session of the console. If a link led here, open the whole link that the
    console has printed.</p>${HOW_TO_GET_A_LINK}`,
);

/** For a token that is not that of this console, such as that of a truncated link. */
const INCOMPLETE_LINK = plainPage(
  "This link is incomplete",
  html`<p>Open the whole link that the console has printed, with all that follows the <code>#</code>. If it leads here
    again, it is the link of another console.</p>`,
);

const USED_LINK = plainPage(
  "This link has been used",
  html`<p>The link works once, and another browser has used this one. If it was not you, stop the console now.</p>
    ${HOW_TO_GET_A_LINK}`,
);

const WRONG_FORM = plainPage(
  "Not allowed",
  html`<p>The form does not belong to this session. Reload its page and try again.</p>`,
);

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:;|$)/i;

/** Reads the fields of a form. A body that is not a form, or ends early, has none, and so no token. */
async function readForm({ req }: Context): Promise<Readonly<Record<string, string>>> {
  if (!FORM_TYPE.test(req.header("content-type") ?? "")) return {};
  return Object.fromEntries(new URLSearchParams(await req.text().catch(() => "")));
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Compares in constant time. */
function isEqual(given: string | undefined, secret: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(secret));
}
