import { explainEnvironment } from "../accounts/accounts.ts";
import type { Environment } from "../accounts/api-key.ts";
import { invalidInput } from "../errors.ts";
import type { Store } from "../stores/store.ts";

/** Throws if the keys of a store are for another environment. A store that has none recorded gets this one. */
export async function requireEnvironment(
  { accounts }: Pick<Store, "accounts">,
  environment: Environment,
): Promise<void> {
  const recorded = await accounts.recordEnvironment(environment);
  if (recorded === environment) return;
  const message = `${explainEnvironment(recorded, environment)} Set STORE_ORDERS_ENVIRONMENT=${recorded}.`;
  throw invalidInput("STORE_ORDERS_ENVIRONMENT", message);
}
