import type { Instant } from "../clock.ts";
import type { HeaderFields } from "./reply.ts";

/** An operation that is on its way out, or gone (decision 17). */
export interface Deprecation {
  /** Deprecated from this moment on, RFC 3339. */
  readonly since: string;
  /** Answers 410 from this moment on, RFC 3339. Never earlier than `since`. */
  readonly sunset: string;
  /** Where the change is explained: the target of `Link`. */
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

/** True once the sunset date has come. */
export function isSunset({ sunset }: Deprecation, at: Instant): boolean {
  return at >= Date.parse(sunset);
}
