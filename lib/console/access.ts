/**
 * Access to the console: one browser, with the session that its link starts, and only from the console's own pages.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The headers of every response. Scripts, styles and requests are of this origin only; nothing is inline. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** The parts of a request that tell which page sent it. */
export interface RequestOrigin {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`: the relation to the page that sent the request. Browsers do not let a page choose it. */
  readonly fetchSite: string | undefined;
}

/** The reason why a request is not served. */
export type AccessProblem = "wrong_host" | "wrong_origin" | "wrong_method";

/**
 * Decides whether a request may come from the console's own page. The name must be the machine's own: a DNS name that
 * points at 127.0.0.1 would let the page of that name read the console. `isEntry` is true for the page that the link
 * opens: it contains nothing, so any page may link to it.
 */
export function checkRequest(
  { method, host, origin, fetchSite }: RequestOrigin,
  port: number,
  isEntry: boolean,
): AccessProblem | undefined {
  // As browsers write it: without port 80.
  const hosts = ["127.0.0.1", "localhost"].map((name) => new URL(`http://${name}:${port}`).host);
  if (host === undefined || !hosts.includes(host)) return "wrong_host";
  if (method === "POST") {
    const isOwn = origin === `http://${host}` && (fetchSite === undefined || fetchSite === "same-origin");
    return isOwn ? undefined : "wrong_origin";
  }
  if (method !== "GET" && method !== "HEAD") return "wrong_method";
  // `none`: typed, or opened from outside the browser.
  const isOwn = fetchSite === undefined || fetchSite === "same-origin" || fetchSite === "none";
  return isOwn || isEntry ? undefined : "wrong_origin";
}

/** The result of opening a link. `wrong_link`: its token is not that of this console, such as that of a truncated link. */
export type Redemption =
  | { readonly ok: true; readonly cookie: string }
  | { readonly ok: false; readonly code: "wrong_link" | "used_link" };

/** The one session of a console. It ends with the process, and nothing of it is stored. */
export interface Session {
  /**
   * The path of every address, without a slash at the end. Browsers send a cookie to every port of a host. They send this
   * one only below its path, which another server on this machine does not know.
   */
  readonly basePath: string;
  /** Starts the session, once. */
  readonly linkToken: string;
  /** Every change carries it, so that no other page can make one. */
  readonly formToken: string;
  /** Returns the value of the cookie for the link's token, once. */
  redeem(linkToken: string): Redemption;
  /** True for the cookie that `redeem` returned. */
  ownsCookie(value: string | undefined): boolean;
  ownsForm(formToken: string | undefined): boolean;
}

/** Creates a session that nobody has joined yet. */
export function createSession(): Session {
  const [linkToken, formToken, cookie] = [newSecret(), newSecret(), newSecret()];
  let isRedeemed = false;
  return {
    basePath: `/${randomBytes(12).toString("base64url")}`,
    linkToken,
    formToken,
    redeem(token) {
      if (!isEqual(token, linkToken)) return { ok: false, code: "wrong_link" };
      if (isRedeemed) return { ok: false, code: "used_link" };
      isRedeemed = true;
      return { ok: true, cookie };
    },
    ownsCookie: (value) => isRedeemed && isEqual(value, cookie),
    ownsForm: (token) => isEqual(token, formToken),
  };
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Compares in constant time. */
function isEqual(given: string | undefined, secret: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(secret));
}

const MAX_UNAUTHENTICATED_CONNECTIONS = 100;

/**
 * Keeps the console reachable while another program on the machine opens connections: for each above the limit, the
 * oldest one that has not shown the session is closed. Returns a function for a connection that has shown it.
 */
export function limitConnections(server: Server): (connection: Socket) => void {
  const unauthenticated = new Set<Socket>();
  server.on("connection", (connection: Socket) => {
    unauthenticated.add(connection);
    connection.once("close", () => unauthenticated.delete(connection));
    const [oldest] = unauthenticated;
    if (unauthenticated.size <= MAX_UNAUTHENTICATED_CONNECTIONS || oldest === undefined) return;
    unauthenticated.delete(oldest);
    oldest.destroy();
  });
  return (connection) => void unauthenticated.delete(connection);
}
