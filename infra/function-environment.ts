import type { Settings } from "./settings.ts";

/** What the functions read from their environment when they start; the same for both. */
export function functionEnvironment(
  { domains, banPolicy }: Pick<Settings, "domains" | "banPolicy">,
  prefix: string,
): Readonly<Record<string, string>> {
  return {
    STORE_ORDERS_DYNAMODB: prefix,
    STORE_ORDERS_BAN_POLICY: JSON.stringify(banPolicy),
    ...(domains === undefined ? {} : { STORE_ORDERS_DOMAINS: JSON.stringify({ domains }) }),
  };
}
