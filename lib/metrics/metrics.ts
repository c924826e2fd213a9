import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { settleWithin } from "../core/concurrency.ts";
import { assertOptions } from "../core/errors.ts";
import { MAX_STORE_CALL_MS, systemClock } from "../core/time.ts";
import { OPERATIONS } from "../http/operations.ts";
import type { HandlerOptions } from "../http/options.ts";
import type { RequestEvent } from "../http/request-event.ts";
import type { Outbox, OutboxBacklog } from "../orders/order-store.ts";
import { PLAN_LIMITS } from "../plans/plan-limits.ts";
import { observeStore } from "./observe-store.ts";

/** Options of `createMetrics`. */
export interface MetricsOptions {
  /** The operations that are served, as for `createHandler`. @default OPERATIONS */
  readonly operations?: readonly { readonly id: string }[];
  /** The plans of accounts, as for `createHandler`. @default PLAN_LIMITS */
  readonly plans?: Readonly<Record<string, unknown>>;
  /** The labels of `store_orders_build_info`, beside `node`. @default none */
  readonly buildInfo?: Readonly<Record<string, string>>;
  /** The registry of the metrics. @default a new registry, with the metrics of the process */
  readonly registry?: Registry;
}

/** The store of the service. That on PostgreSQL also has the state of its connections. */
type ServiceStore = HandlerOptions["store"] & {
  readonly outbox?: Outbox;
  connections?(): Readonly<Record<string, number>>;
};

/** Counts requests, bans and listed orders. No label has more values than there are operations, statuses and plans. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts a request. Pass it to `createHandler`, or call it in your own `onRequest`. */
  readonly onRequest: (event: RequestEvent) => void;
  /** Reports the connections that the server of `startNodeServer` refuses. */
  watch(server: { readonly refusedConnections: number }): void;
  /** Returns the same store, which also counts bans and listed orders. */
  instrument(store: ServiceStore): ServiceStore;
}

// These counters exist from the start, and those of bans: `increase()` does not see the first count of a new one.
const FAILURES = [500, 503];
const REJECTIONS = ["rate_limit_exceeded", "api_key_banned"] as const satisfies RequestEvent["wouldReject"][];

const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Creates the metrics of one process. The names and labels are listed in lib/node/README.md#metrics. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  assertOptions(options, ["operations", "plans", "buildInfo", "registry"]);
  const { operations = OPERATIONS, plans = PLAN_LIMITS, buildInfo = {}, registry = new Registry() } = options;
  const registers = [registry];
  // Memory, processor time, event loop delay and garbage collection of this process.
  if (options.registry === undefined) collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });
  const requests = counter(
    "store_orders_requests_total",
    "Finished requests. The operation is 'none' for a path without one.",
    ...["operation", "status"],
  );
  const duration = new Histogram({
    name: "store_orders_request_duration_seconds",
    help: "Time from the arrival of a request to the end of its response.",
    labelNames: ["operation"],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const admissions = counter(
    "store_orders_admissions_total",
    "Requests by plan, as admitted, rejected or banned. The plan is 'none' without a valid key.",
    ...["plan", "outcome"],
  );
  const wouldReject = counter(
    "store_orders_would_reject_total",
    "Requests that would have been rejected, if limits were enforced.",
    ...["plan", "reason"],
  );
  const bans = counter("store_orders_bans_total", "Bans that this process has started.", "plan");
  const rows = counter("store_orders_listed_orders_total", "Orders read for lists.");
  const storeErrors = counter(
    "store_orders_store_errors_total",
    "Requests, lists and readiness checks that failed because of the store.",
  );

  const gauge = (name: string, help: string, collect: (this: Gauge<"state">) => void | Promise<void>) =>
    new Gauge({ name, help, labelNames: ["state"], registers, collect });
  let server = { refusedConnections: 0 };
  new Counter({
    name: "store_orders_connections_refused_total",
    help: "Connections that were closed at once, because the server or the process had too many.",
    registers,
    collect() {
      this.reset();
      this.inc(server.refusedConnections);
    },
  });
  let connections: ServiceStore["connections"];
  gauge(
    "store_orders_database_connections",
    "Connections of the store's pool that are busy or idle, and calls that wait for one.",
    function collect() {
      for (const [state, count] of Object.entries(connections?.() ?? {})) this.set({ state }, count);
    },
  );
  let outbox: ServiceStore["outbox"];
  let reading: Promise<OutboxBacklog | undefined> | undefined;
  gauge(
    "store_orders_outbox_orders",
    "Orders with changes that wait to be delivered, or whose change was set aside.",
    async function collect() {
      this.reset();
      // A store that fails, or never answers, does not hide the other metrics.
      const asked = outbox && (async () => outbox.backlog())();
      reading = asked && settleWithin(MAX_STORE_CALL_MS, asked).catch(() => undefined);
      const { waiting, failed } = (await reading) ?? {};
      if (waiting !== undefined) this.set({ state: "waiting" }, waiting);
      if (failed !== undefined) this.set({ state: "failed" }, failed);
    },
  );
  let aheadSince: number | undefined;
  gauge(
    "store_orders_outbox_oldest_timestamp_seconds",
    "The time of the oldest change of an order that waits to be delivered.",
    async function collect() {
      this.reset();
      const { oldest } = (await reading) ?? {};
      // The age of what a wrong clock wrote is not known, and begins here: a negative one would never be too high.
      const now = systemClock();
      aheadSince = oldest !== undefined && oldest > now ? (aheadSince ?? now) : undefined;
      if (oldest !== undefined) this.set({ state: "waiting" }, (aheadSince ?? oldest) / 1_000);
    },
  );
  for (const { id } of [...operations, { id: "none" }])
    for (const status of FAILURES) requests.inc({ operation: id, status }, 0);
  for (const plan of Object.keys(plans)) {
    bans.inc({ plan }, 0);
    for (const reason of REJECTIONS) wouldReject.inc({ plan, reason }, 0);
  }
  const build = { ...buildInfo, node: process.version };
  new Gauge({
    name: "store_orders_build_info",
    help: "Always 1. The labels describe the running build.",
    labelNames: Object.keys(build),
    registers,
  }).set(build, 1);

  return {
    registry,

    onRequest(event) {
      const { operation = "none", status, durationMs, errorCode, bodyEnd } = event;
      requests.inc({ operation, status });
      duration.observe({ operation }, durationMs / 1_000);
      const outcome = outcomeOf(event);
      if (outcome !== undefined) admissions.inc({ plan: event.plan ?? "none", outcome });
      if (event.wouldReject) wouldReject.inc({ plan: event.plan ?? "none", reason: event.wouldReject });
      if (errorCode === "store_unavailable" || bodyEnd === "failed") storeErrors.inc();
    },

    watch(watched) {
      server = watched;
    },

    instrument(store) {
      connections = () => store.connections?.() ?? {};
      outbox = store.outbox;
      const onPage = (records: number) => rows.inc(records);
      return observeStore(store, { onBan: (plan) => bans.inc({ plan }), onList: () => onPage });
    },
  };
}

/** Nothing was decided about documents, redirects, and requests that the store could not check. */
function outcomeOf({ plan, errorCode }: RequestEvent): "admitted" | "rejected" | "banned" | undefined {
  if (errorCode === "api_key_banned") return "banned";
  if (errorCode === "rate_limit_exceeded") return "rejected";
  if (errorCode === "missing_api_key" || errorCode === "invalid_api_key") return "rejected";
  return plan === undefined ? undefined : "admitted";
}
