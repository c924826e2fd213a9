import { InvalidInputError } from "../core/errors.ts";
import { allowedMethods, type Operation } from "./operations.ts";
import type { Reply, RequestHead } from "./response.ts";

/** Cross-origin requests from the web pages of configured origins. See lib/http/README.md#cross-origin-requests. */
export interface Cors {
  /** The reply to a preflight from a configured origin. `undefined` for any other request. */
  preflight(request: RequestHead): Reply | undefined;
  /** Adds the headers that let a page of a configured origin read the response. */
  addHeaders(headers: Record<string, string>, request: RequestHead): void;
}

/** The response headers that a page may read in addition to those that every page may. */
const EXPOSED_HEADERS =
  "x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, x-request-id";

/** The time for which a browser may reuse the reply to a preflight. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** Creates the cross-origin rules. Throws `InvalidInputError` with every origin that is invalid. */
export function createCors(origins: readonly string[], operations: readonly Operation[]): Cors {
  const issues = origins.flatMap((origin, index) => {
    const message = findOriginProblem(origin);
    return message === undefined ? [] : [{ path: `corsOrigins[${index}]`, message }];
  });
  if (issues.length > 0) throw new InvalidInputError(issues);
  const allowed = new Set(origins);
  const preflightReply: Reply = {
    status: 204,
    headers: {
      "access-control-allow-methods": allowedMethods(operations),
      "access-control-allow-headers": "authorization, content-type",
      "access-control-max-age": `${PREFLIGHT_MAX_AGE_SECONDS}`,
    },
  };

  return {
    preflight({ method, headers }) {
      if (method !== "OPTIONS" || headers.get("access-control-request-method") === null) return undefined;
      return allowed.has(headers.get("origin") ?? "") ? preflightReply : undefined;
    },

    addHeaders(headers, request) {
      const { vary } = headers;
      // The response to a page of another origin differs, so a cache must not reuse this one for it.
      headers["vary"] = vary === undefined ? "origin" : `${vary}, origin`;
      const origin = request.headers.get("origin");
      if (origin === null || !allowed.has(origin)) return;
      headers["access-control-allow-origin"] = origin;
      headers["access-control-expose-headers"] = EXPOSED_HEADERS;
    },
  };
}

/** Returns how to fix an origin that is not in the form in which browsers send it. `undefined` if it is valid. */
export function findOriginProblem(text: string): string | undefined {
  if (text === "*") return "Name each origin, such as https://shop.example.com. A wildcard is not accepted.";
  const url = /^https?:[^*]+$/i.test(text) ? URL.parse(text) : null;
  if (url === null) return "Use an origin, such as https://shop.example.com.";
  return url.origin === text ? undefined : `Use the origin as browsers send it: ${url.origin}.`;
}
