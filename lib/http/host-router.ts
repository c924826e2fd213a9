import { type HostTable, hostTable, routeHost } from "../domains/routing.ts";
import type { RequestHead } from "./plain-response.ts";
import type { Reply } from "./reply.ts";

/** How long a browser may cache a redirect, and therefore follow it after it has been removed. */
const REDIRECT_MAX_AGE_SECONDS = 300;

/**
 * Creates a function that returns the reply for a host that does not serve the API: a redirect to the primary, or 421.
 * Neither needs a key, and neither is counted. It returns `undefined` if the host serves the API. See
 * lib/README.md#serving-and-redirects.
 */
export function createHostRouter(
  hosts: () => HostTable = () => EVERY_HOST,
): (host: string | null, target: string) => Reply | undefined {
  return (host, target) => {
    const route = routeHost(hosts(), host, target);
    switch (route.action) {
      case "serve":
        return undefined;
      case "misdirected":
        return { error: "misdirected_request" };
      case "redirect": {
        const { status, location } = route;
        const headers = {
          location,
          "cache-control": `public, max-age=${REDIRECT_MAX_AGE_SECONDS}`,
          "content-type": "text/plain; charset=utf-8",
        };
        return { status, headers, body: `Moved permanently to ${location}\n` };
      }
    }
  };
}

/** The host of a request: its `Host` header, otherwise the host of its URL. */
export function hostOf(request: RequestHead): string | null {
  return request.headers.get("host") ?? /^[a-z]+:\/\/([^/?#]*)/i.exec(request.url)?.[1] ?? null;
}

const EVERY_HOST = hostTable(undefined);
