import type { Settings } from "../config/settings.ts";

/** What the functions read from their environment when they start; the same for both. */
export function functionEnvironment(
  { domains, banPolicy }: Pick<Settings, "domains" | "banPolicy">,
  prefix: string,
): Readonly<Record<string, string>> {
  return {
    // Errors in the log then name lines of the sources, not of the bundle.
    NODE_OPTIONS: "--enable-source-maps",
    STORE_ORDERS_DYNAMODB: prefix,
    STORE_ORDERS_BAN_POLICY: JSON.stringify(banPolicy),
    ...(domains === undefined ? {} : { STORE_ORDERS_DOMAINS: JSON.stringify({ domains }) }),
  };
}
