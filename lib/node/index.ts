/**
 * The server on Node, the documentation page, and DNS for custom domains.
 *
 * @module store-orders/node
 */

export { InvalidInputError, isInvalidInput } from "../core/errors.ts";
export type { CertificateProbe } from "../domains/status/facts.ts";
export type { DnsResolver } from "../domains/verification/resolver.ts";
export type { DocumentSource } from "../http/reply.ts";
export { type CertificateProbeOptions, createCertificateProbe } from "./certificate-probe.ts";
export { createDnsResolver, type DnsResolverOptions } from "./dns-resolver.ts";
export { type DocsPageOptions, docsPage } from "./docs/docs-page.ts";
export { type NodeHandlerOptions, toNodeHandler } from "./handler.ts";
export { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./limits.ts";
export type { NodeRequest } from "./request.ts";
export type { NodeResponse } from "./response.ts";
export { type NodeServer, type NodeServerOptions, startNodeServer } from "./server.ts";
