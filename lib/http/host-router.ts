import { type HostTable, hostTable, routeHost } from "../domains/routing.ts";
import type { Reply } from "./reply.ts";

/** Seconds for which a browser may keep a redirect: one that is removed lives on no longer than this. */
const REDIRECT_MAX_AGE = 300;

/**
 * Answers what is not for the host that was asked for: a redirect to the primary or a refusal (decision 22).
 * `undefined` where the host serves the API. Neither needs a key, and neither is counted.
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
          "cache-control": `public, max-age=${REDIRECT_MAX_AGE}`,
          "content-type": "text/plain; charset=utf-8",
        };
        return { status, headers, body: `Moved permanently to ${location}\n` };
      }
    }
  };
}

/** The host of a request: its `Host` header or, where a program made the request, that of its URL. */
export function hostOf(request: Request): string | null {
  return request.headers.get("host") ?? /^[a-z]+:\/\/([^/?#]*)/i.exec(request.url)?.[1] ?? null;
}

const EVERY_HOST = hostTable(undefined);
