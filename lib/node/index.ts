/**
 * Runs the service on Node: the server, its access log, the documentation page, and DNS for the verification of custom
 * domains.
 *
 * @module store-orders/node
 */
export type { DnsResolver } from "../domains/verification/resolver.ts";
export { InvalidInputError, isInvalidInput } from "../errors.ts";
export { accessLine } from "../http/access-log.ts";
export { type CertificateProbeOptions, createCertificateProbe } from "./certificate-probe.ts";
export { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./connection-limits.ts";
export { createDnsResolver, type DnsResolverOptions } from "./dns-resolver.ts";
export { type DocsPageOptions, docsPage } from "./docs/docs-page.ts";
export { limitHeapGrowth } from "./limit-heap-growth.ts";
export { type NodeHandlerOptions, toNodeHandler } from "./node-handler.ts";
export { optimizeEarly } from "./optimize-early.ts";
export { type NodeServer, type NodeServerOptions, startNodeServer } from "./server.ts";
export type { StartOptions } from "./v8-flags.ts";
