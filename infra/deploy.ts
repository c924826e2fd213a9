import * as pulumi from "@pulumi/pulumi";
import { type Settings, type SettingsInput, withDefaults } from "./config/settings.ts";
import { findClosingProblem } from "./domains/host-plan.ts";
import { preflight } from "./domains/preflight.ts";
import { functionCode } from "./functions/code.ts";
import { enforcePolicies } from "./policy/enforce.ts";
import { StoreOrders } from "./store-orders.ts";

/**
 * Deploys the whole service in a program of your own: checks DNS, bundles the functions, and checks every resource of
 * the program against the policies. The settings are those of a stack file; domains come from `defineDomains`.
 *
 * ```ts
 * import { deployStoreOrders } from "store-orders/infra";
 * import { domains } from "./domains.ts";
 *
 * export const { baseUrl, domainStatus } = await deployStoreOrders("orders", { plan: "pro", domains });
 * ```
 *
 * @param name the prefix of all names in it, including those of the tables
 * @throws {InvalidInputError} if a setting is invalid; lists every problem
 * @throws {pulumi.RunError} if the DNS of a host is not ready; lists every problem with its fix
 */
export async function deployStoreOrders(
  name: string,
  settings: SettingsInput = {},
  options?: pulumi.ComponentResourceOptions,
): Promise<StoreOrders> {
  return deploySettings(name, withDefaults(settings), options);
}

/** Deploys the whole service with complete settings. */
export async function deploySettings(
  name: string,
  settings: Settings,
  options?: pulumi.ComponentResourceOptions,
): Promise<StoreOrders> {
  enforcePolicies(settings);
  const hosts = await preflight(settings);
  const problem = findClosingProblem(settings, hosts);
  if (problem !== undefined) throw new pulumi.RunError(problem);
  return new StoreOrders(name, { settings, hosts, code: await functionCode() }, options);
}
