import { InvalidInputError } from "../core/errors.ts";
import { allowedMethods, type Operation } from "./operations.ts";
import type { Reply } from "./reply.ts";
import type { RequestHead } from "./request.ts";

/** Cross-origin requests from the web pages of configured origins. See lib/http/README.md#cross-origin-requests. */
export type Cors = ReturnType<typeof createCors>;

/** A list of header names (RFC 9110, section 5.6.1). */
const HEADER_NAMES = /^[!#$%&'*+.^_`|~0-9a-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9a-z-]+)*$/i;

const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** Creates the cross-origin rules. Throws `InvalidInputError` with every origin that is invalid. */
export function createCors(
  origins: readonly string[],
  operations: readonly Operation[],
  keyHeaders: readonly string[] = [],
) {
  const issues = origins.flatMap((origin, index) => {
    const message = findOriginProblem(origin);
    return message === undefined ? [] : [{ path: `corsOrigins[${index}]`, message }];
  });
  if (issues.length > 0) throw new InvalidInputError(issues);
  const allowed = new Set(origins);
  const fixed = {
    "access-control-allow-methods": allowedMethods(operations),
    "access-control-max-age": `${PREFLIGHT_MAX_AGE_SECONDS}`,
    vary: "access-control-request-headers",
  };

  return {
    preflight({ method, headers }: RequestHead): Reply | undefined {
      if (method !== "OPTIONS" || headers.get("access-control-request-method") === null) return undefined;
      if (!allowed.has(headers.get("origin") ?? "")) return undefined;
      // Tracers and frameworks add headers of their own, which a trusted page may send.
      const requested = headers.get("access-control-request-headers") ?? "";
      const names = HEADER_NAMES.test(requested)
        ? requested
        : ["authorization", "content-type", ...keyHeaders].join(", ");
      return { status: 204, headers: { ...fixed, "access-control-allow-headers": names } };
    },

    addHeaders(headers: Record<string, string>, request: RequestHead): void {
      const { vary } = headers;
      // The response to a page of another origin differs, so a cache must not reuse this one for it.
      headers["vary"] = vary === undefined ? "origin" : `${vary}, origin`;
      const origin = request.headers.get("origin");
      if (origin === null || !allowed.has(origin)) return;
      headers["access-control-allow-origin"] = origin;
      // The page may read whatever this response has; the runtime adds the date.
      headers["access-control-expose-headers"] = Object.keys(headers)
        .filter((name) => name !== "vary" && !name.startsWith("access-control-"))
        .concat("date")
        .join(", ");
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
