/**
 * Metrics of the service in the Prometheus format.
 *
 * ```ts
 * const metrics = createMetrics();
 * const handler = createHandler({ store: metrics.instrument(store), onRequest: metrics.onRequest });
 * const server = await startMetricsServer({ metrics, port: 9464 }); // http://127.0.0.1:9464/metrics
 * ```
 *
 * @module store-orders/metrics
 */
export type { AccountStore } from "../accounts/account-store.ts";
export type { ClientInfo, RequestEvent } from "../http/request-event.ts";
export type { OrderStore, Outbox } from "../orders/order-store.ts";
export { createMetrics, type Metrics, type MetricsOptions } from "./metrics.ts";
export { type MetricsServer, type MetricsServerOptions, startMetricsServer } from "./metrics-server.ts";
