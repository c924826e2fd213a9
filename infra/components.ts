/**
 * The infrastructure as components, for Pulumi programs of your own.
 *
 * ```ts
 * import { functionCode, StoreOrders, withDefaults } from "store-orders/infra";
 *
 * const settings = withDefaults({ protect: true });
 * const orders = new StoreOrders("shop", { settings, code: await functionCode() });
 * export const baseUrl = orders.baseUrl;
 * ```
 *
 * A program with domains plans its hosts first: `await lookAround(settings)`.
 *
 * @module store-orders/infra
 */
export { AccessLog, type AccessLogArgs } from "./access-log.ts";
export { Api, type ApiArgs, STAGE } from "./api.ts";
export { CustomDomain, type CustomDomainArgs, type HostDns, type ValidationRecord } from "./custom-domain.ts";
export type { DomainOutput } from "./domain-output.ts";
export { OrdersFunction, type OrdersFunctionArgs } from "./function.ts";
export { functionCode } from "./function-code.ts";
export { holdRules } from "./hold-rules.ts";
export { type HostPlan, planHosts } from "./host-plan.ts";
export { lookAround } from "./look-around.ts";
export { Observability, type ObservabilityArgs } from "./observability.ts";
export { type FunctionRole, RIGHTS, type Statement, type TableCalls, tableStatements } from "./rights.ts";
export { type RuleContext, violations } from "./rules.ts";
export { readSettings, type Settings, withDefaults } from "./settings.ts";
export { StoreOrders, type StoreOrdersArgs } from "./store-orders.ts";
export { Tables, type TablesArgs, tableArgs } from "./tables.ts";
