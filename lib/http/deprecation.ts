import type { Instant } from "../clock.ts";
import type { HeaderFields } from "./reply.ts";

/** The deprecation of an operation. See lib/README.md#versions-and-deprecation. */
export interface Deprecation {
  /** Start of the deprecation, RFC 3339. */
  readonly since: string;
  /** From this time on the operation returns 410, RFC 3339. Not earlier than `since`. */
  readonly sunset: string;
  /** The page that explains the change: the target of `Link`. */
  readonly link: string;
}

/** The headers of a deprecated operation: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link`. */
export function deprecationFields({ since, sunset, link }: Deprecation): HeaderFields {
  return {
    deprecation: `@${Math.floor(Date.parse(since) / 1000)}`,
    sunset: new Date(sunset).toUTCString(),
    link: `<${link}>; rel="deprecation"; type="text/html", <${link}>; rel="sunset"; type="text/html"`,
  };
}

/** True from the sunset date on. */
export function isSunset({ sunset }: Deprecation, at: Instant): boolean {
  return at >= Date.parse(sunset);
}
