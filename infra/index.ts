/**
 * Pulumi components that deploy the service, for use in other Pulumi programs.
 *
 * ```ts
 * import { deployStoreOrders } from "store-orders/infra";
 *
 * export const { baseUrl } = await deployStoreOrders("shop", { protect: true });
 * ```
 *
 * @module store-orders/infra
 */
export { AccessLog, type AccessLogArgs } from "./api/access-log.ts";
export { Api, type ApiArgs, STAGE } from "./api/api.ts";
export { WebAcl, type WebAclArgs } from "./api/web-acl.ts";
export { readSettings, type Settings, type SettingsInput, withDefaults } from "./config/settings.ts";
export { stackFileJsonSchema } from "./config/stack-schema.ts";
export { deploySettings, deployStoreOrders } from "./deploy.ts";
export type { CertificateStatus, FoundCertificate } from "./domains/certificates.ts";
export { CustomDomain, type CustomDomainArgs } from "./domains/custom-domain.ts";
export type { DomainOutput, RecordOutput } from "./domains/domain-output.ts";
export type { HostDns } from "./domains/host-dns.ts";
export { type HostPlan, planHosts } from "./domains/host-plan.ts";
export type { HostStatus } from "./domains/host-status.ts";
export { createRecordObserver, type RecordObserver } from "./domains/observer.ts";
export { type PreflightOptions, preflight } from "./domains/preflight.ts";
export type { ValidationRecord } from "./domains/validation-record.ts";
export { functionCode } from "./functions/code.ts";
export { OrdersFunction, type OrdersFunctionArgs } from "./functions/function.ts";
export {
  type FunctionRole,
  PERMISSIONS,
  type Statement,
  type TableCalls,
  tableStatements,
} from "./functions/permissions.ts";
export type { ReleaseOutput } from "./functions/release.ts";
export { Observability, type ObservabilityArgs } from "./observability/observability.ts";
export { enforcePolicies } from "./policy/enforce.ts";
export { type PolicyContext, violations } from "./policy/policies.ts";
export { StoreOrders, type StoreOrdersArgs } from "./store-orders.ts";
export { Tables, type TablesArgs, tableArgs } from "./tables.ts";
