import { type Clock, type Instant, systemClock } from "../../lib/core/time.ts";
import type { HandlerOptions } from "../../lib/http/options.ts";
import { accessFields, type RequestEvent, toLogLine } from "../../lib/http/request-event.ts";
import { observeStore } from "../../lib/metrics/observe-store.ts";
import type { OutboxBacklog } from "../../lib/orders/order-store.ts";

/** A list with more orders triggers an alarm: 120 MB if they have all fields, of the 200 MB of a streamed response. */
export const LONG_LIST_ORDERS = 1_000_000;

interface TelemetryOptions {
  /** Separates the metrics of several stacks in one AWS account. */
  readonly namespace: string;
  readonly write: (line: string) => void;
  readonly clock?: Clock;
}

/** Writes access log lines and metrics, one JSON object per line. */
export function createTelemetry({ namespace, write, clock = systemClock }: TelemetryOptions) {
  const writeLine = (fields: object) => write(`${toLogLine(fields)}\n`);
  const emit = (metric: MetricValue) => writeLine(embeddedMetrics(namespace, clock(), [metric]));

  return {
    /** Logs a request, and counts that of an account as admitted or rejected, by plan. */
    onRequest(event: RequestEvent): void {
      const at = clock();
      const { plan, errorCode } = event;
      const isRejected = errorCode === "rate_limit_exceeded" || errorCode === "api_key_banned";
      const name = isRejected ? "Rejected" : "Admitted";
      const counted = plan !== undefined && [{ name, value: 1, dimensions: { Plan: plan } }];
      const metrics = counted && embeddedMetrics(namespace, at, counted);
      writeLine({ ...accessFields(event, new Date(at)), ...metrics });
    },

    onFirstByte(status: number, value: number): void {
      if (status === 200) emit({ name: "ListFirstByte", value, unit: "Milliseconds" });
    },

    /** Measures the changes that wait for their delivery, the age of the oldest in seconds, and those that failed. */
    onBacklog({ waiting, failed, oldest }: OutboxBacklog): void {
      const at = clock();
      const age = oldest === undefined ? 0 : Math.max(0, (at - oldest) / 1_000);
      const metrics: readonly MetricValue[] = [
        { name: "ChangesWaiting", value: waiting },
        { name: "ChangesFailed", value: failed },
        { name: "ChangesAge", value: age, unit: "Seconds" },
      ];
      writeLine(embeddedMetrics(namespace, at, metrics));
    },

    /** Returns the same store, which also counts bans and the records of lists that are complete or long. */
    instrument: (store: HandlerOptions["store"]) =>
      observeStore(store, {
        onBan: (plan) => emit({ name: "Bans", value: 1, dimensions: { Plan: plan } }),
        onList() {
          let rows = 0;
          return (records, isLast) => {
            const wasLong = rows > LONG_LIST_ORDERS;
            rows += records;
            // Before the last page is sent: the consumer may not resume after it. The platform cuts a long list off.
            if (isLast || (!wasLong && rows > LONG_LIST_ORDERS)) emit({ name: "ListRows", value: rows });
          };
        },
      }),
  };
}

interface MetricValue {
  readonly name: string;
  readonly value: number;
  /** @default Count */
  readonly unit?: "Count" | "Milliseconds" | "Seconds";
  /** @default none */
  readonly dimensions?: Readonly<Record<string, string>>;
}

/**
 * The fields of a JSON log line from which CloudWatch extracts metrics, without a call to its API. See
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
function embeddedMetrics(namespace: string, at: Instant, metrics: readonly MetricValue[]): object {
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
