/** What a browser says about a request. */
export interface RequestOrigin {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`: where the request comes from. Browsers do not let a page choose it. */
  readonly fetchSite: string | undefined;
}

/** Why a request is not served. */
export type GuardProblem = "wrong_host" | "wrong_origin" | "wrong_method";

/**
 * Decides whether a request may come from the console's own page. The name must be the machine's own: a DNS name that
 * points at 127.0.0.1 would let the page of that name read the console. `isEntry` is true for the page that the link
 * opens: it contains nothing, so any page may link to it.
 */
export function checkRequest(
  { method, host, origin, fetchSite }: RequestOrigin,
  port: number,
  isEntry: boolean,
): GuardProblem | undefined {
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
