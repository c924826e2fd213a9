import type { Command } from "commander";
import type { HandlerOptions } from "../http/handler-options.ts";
import { readAddress } from "./arguments.ts";
import { type ListenAddress, listenOn } from "./listen.ts";

/** The flag that turns on metrics. */
export interface MetricsFlags {
  readonly metrics?: ListenAddress;
}

/** Adds the flag of the metrics to a command. */
export function addMetricsOption(command: Command): Command {
  return command.option(
    "--metrics <address>",
    "serve Prometheus metrics at [HOST:]PORT, on 127.0.0.1 unless a host is given",
    readAddress,
  );
}

type Observed = Pick<HandlerOptions, "store" | "onRequest">;

/** The store and the hook to measure a handler with, and the address of the metrics. */
export interface ServeMetrics extends Observed, AsyncDisposable {
  readonly url?: string;
}

/** Starts the metrics server if `--metrics` is given. Otherwise nothing is measured. */
export async function startMetrics(
  { metrics: address }: MetricsFlags,
  observed: Observed,
): Promise<ServeMetrics> {
  if (address === undefined) return { ...observed, [Symbol.asyncDispose]: async () => {} };
  const { createMetrics, startMetricsServer } = await import("../metrics/index.ts");
  const metrics = createMetrics();
  const flags = { host: "--metrics", port: "--metrics" };
  const { url, close } = await listenOn(address, flags, () => startMetricsServer({ metrics, ...address }));
  return {
    store: metrics.instrument(observed.store),
    onRequest(event, source) {
      metrics.onRequest(event);
      observed.onRequest?.(event, source);
    },
    url,
    [Symbol.asyncDispose]: close,
  };
}
