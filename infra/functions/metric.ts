import type { Instant } from "../../lib/clock.ts";

/** A value of a CloudWatch metric. */
export interface MetricValue {
  readonly name: string;
  readonly value: number;
  /** @default Count */
  readonly unit?: "Count" | "Milliseconds";
  /** @default none */
  readonly dimensions?: Readonly<Record<string, string>>;
}

/**
 * The fields of a JSON log line from which CloudWatch extracts metrics, without a call to its API. See
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function embeddedMetrics(
  namespace: string,
  at: Instant,
  metrics: readonly MetricValue[],
): Readonly<Record<string, unknown>> {
  return {
    _aws: {
      Timestamp: at,
      CloudWatchMetrics: metrics.map(({ name, unit = "Count", dimensions = {} }) => ({
        Namespace: namespace,
        Dimensions: [Object.keys(dimensions)],
        Metrics: [{ Name: name, Unit: unit }],
      })),
    },
    ...Object.assign({}, ...metrics.map(({ name, value, dimensions }) => ({ ...dimensions, [name]: value }))),
  };
}
