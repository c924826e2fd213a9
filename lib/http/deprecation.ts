import type { Issue } from "../core/errors.ts";
import { isDateTime } from "../orders/order.ts";
import { OPENAPI_PATH } from "./path.ts";
import type { HeaderFields } from "./reply.ts";

/** The deprecation of an operation. See lib/README.md#versions-and-deprecation. */
export interface Deprecation {
  /** Start of the deprecation, RFC 3339. */
  readonly since: string;
  /** From this time on the operation returns 410, RFC 3339. Not earlier than `since`. */
  readonly sunset: string;
  /** The page that explains the change: the target of `Link`. @default the OpenAPI document */
  readonly link?: string;
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link`. `path` is that of the operation, below the version. */
export function deprecationHeaders({ since, sunset, link }: Deprecation, path: string): HeaderFields {
  // Relative, because the handler may be mounted below a path that it does not know.
  const target = link ?? `${"../".repeat(path.split("/").length - 1)}${OPENAPI_PATH.slice(1)}`;
  const type = link === undefined ? "application/json" : "text/html";
  return {
    deprecation: `@${Math.floor(Date.parse(since) / 1000)}`,
    sunset: new Date(sunset).toUTCString(),
    link: ["deprecation", "sunset"].map((rel) => `<${target}>; rel="${rel}"; type="${type}"`).join(", "),
  };
}

export function findDeprecationIssues({ since, sunset, link }: Deprecation): readonly Issue[] {
  const issues: Issue[] = Object.entries({ since, sunset })
    .filter(([, text]) => !isDateTime(text))
    .map(([path]) => ({ path, message: "Use a date-time with an offset, such as 2027-06-01T00:00:00Z." }));
  if (Date.parse(sunset) < Date.parse(since))
    issues.push({ path: "sunset", message: "Use a time after since." });
  if (link !== undefined && !isLink(link)) issues.push({ path: "link", message: LINK_RULE });
  return issues;
}

export function isLink(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text) && !/[<>"]/.test(text);
}

export const LINK_RULE =
  "Use a URL, such as https://docs.example.com, with all other characters percent-encoded, or leave it out.";
