import { serializeDomains } from "../../lib/domains/mapping.ts";
import { defineDomains } from "../../lib/domains/parse.ts";
import type { Settings } from "../config/settings.ts";

/** The environment variables of both functions. */
export function functionEnvironment(
  { domains, banPolicy }: Pick<Settings, "domains" | "banPolicy">,
  prefix: string,
): Readonly<Record<string, string>> {
  return {
    // Stack traces in the log then refer to the sources instead of the bundle.
    NODE_OPTIONS: "--enable-source-maps",
    STORE_ORDERS_DYNAMODB: prefix,
    STORE_ORDERS_BAN_POLICY: JSON.stringify(banPolicy),
    // Without domains only the API Gateway hostname serves, so the last domain stops as soon as it is removed here.
    STORE_ORDERS_DOMAINS: serializeDomains(domains ?? defineDomains({})),
  };
}
