import type { Instant } from "../../lib/clock.ts";

/** A number that CloudWatch keeps, and the properties that it is kept apart by. */
export interface Metric {
  readonly name: string;
  readonly value: number;
  /** @default Count */
  readonly unit?: "Count" | "Milliseconds";
  readonly by?: Readonly<Record<string, string>>;
}

/**
 * Metrics in the embedded metric format: properties of a line of the log, from which CloudWatch takes them without a
 * call being made. It is one object, so no library is worth its size and its time to start.
 */
export function embed(
  namespace: string,
  at: Instant,
  metrics: readonly Metric[],
): Readonly<Record<string, unknown>> {
  return {
    _aws: {
      Timestamp: at,
      CloudWatchMetrics: metrics.map(({ name, unit = "Count", by = {} }) => ({
        Namespace: namespace,
        Dimensions: [Object.keys(by)],
        Metrics: [{ Name: name, Unit: unit }],
      })),
    },
    ...Object.assign({}, ...metrics.map(({ name, value, by }) => ({ ...by, [name]: value }))),
  };
}
