/**
 * Pulumi components that deploy the service, for use in other Pulumi programs.
 *
 * ```ts
 * import * as pulumi from "@pulumi/pulumi";
 * import { deployStoreOrders } from "store-orders/infra";
 *
 * export const { baseUrl } = await deployStoreOrders(`shop-${pulumi.getStack()}`);
 * ```
 *
 * @module store-orders/infra
 */

export type { DomainMapping } from "../lib/domains/mapping.ts";
export type { CertificateStatus, StackHost, StackRecord, StackStatus } from "../lib/domains/status/steps.ts";
export type { PlanLimits } from "../lib/plans/plan-limits.ts";
export { AccessLog, type AccessLogArgs } from "./api/access-log.ts";
export { Api, type ApiArgs } from "./api/api.ts";
export { WebAcl, type WebAclArgs } from "./api/web-acl.ts";
export { componentProvider } from "./component/provider.ts";
export { type Settings, type SettingsInput, withDefaults } from "./config/settings.ts";
export type { FoundCertificate } from "./domains/certificates.ts";
export { CustomDomain, type CustomDomainArgs, type ValidationRecord } from "./domains/custom-domain.ts";
export type { HostDns, HostPlan } from "./domains/host-plan.ts";
export type { DomainOutput } from "./domains/hosts.ts";
export { type PreflightOptions, preflight } from "./domains/preflight.ts";
export { functionCode, OrdersFunction, type OrdersFunctionArgs } from "./functions/function.ts";
export type { FunctionRole, Statement, TableCalls } from "./functions/permissions.ts";
export { Observability, type ObservabilityArgs } from "./observability/observability.ts";
export { deployStoreOrders, StoreOrders, type StoreOrdersArgs } from "./store-orders.ts";
export { Tables, type TablesArgs } from "./tables.ts";
