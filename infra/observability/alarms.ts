import type * as pulumi from "@pulumi/pulumi";
import type { FunctionRole } from "../functions/permissions.ts";
import { LONG_LIST_ORDERS } from "../functions/telemetry.ts";

/** The resources with metrics, by the names that CloudWatch uses. */
export interface MonitoredResources {
  readonly apiName: pulumi.Input<string>;
  readonly stageName: pulumi.Input<string>;
  readonly functions: Readonly<Record<FunctionRole, pulumi.Input<string>>>;
  readonly tables: Readonly<Record<"orders" | "accounts", pulumi.Input<string>>>;
  readonly certificates: readonly {
    /** Identifies the host in logical names. */
    readonly key: string;
    readonly host: string;
    readonly arn: pulumi.Input<string>;
  }[];
  /** The namespace of the metrics that the functions write. */
  readonly namespace: string;
}

/** A metric by its name and dimensions. */
export interface MetricReference {
  readonly namespace: string;
  readonly metricName: string;
  readonly dimensions: Readonly<Record<string, pulumi.Input<string>>>;
}

/** A condition on a metric that notifies someone. */
export interface Alarm extends MetricReference {
  /** Unique; part of the logical name. */
  readonly key: string;
  readonly description: string;
  readonly statistic: "Average" | "Sum" | "Minimum" | "Maximum" | "p95";
  readonly comparison: "GreaterThanThreshold" | "LessThanThreshold";
  readonly threshold: number;
  readonly periodSeconds: number;
  /** Alarms if this many of the last periods breach the threshold. */
  readonly datapoints: { readonly breaching: number; readonly of: number };
}

const FIVE_MINUTES_SECONDS = 300;
const DAY_SECONDS = 86_400;
/** More than none in two of three periods: a single spike does not alarm. */
const TWO_OF_THREE = {
  statistic: "Sum",
  comparison: "GreaterThanThreshold",
  threshold: 0,
  periodSeconds: FIVE_MINUTES_SECONDS,
  datapoints: { breaching: 2, of: 3 },
} as const;

/** The alarms of a stack. None uses latency, because the latency of a stream includes its whole transfer. */
export function planAlarms(monitored: MonitoredResources): readonly Alarm[] {
  return [
    {
      ...TWO_OF_THREE,
      ...gatewayMetric(monitored, "5XXError"),
      key: "5xx",
      description: "More than 1 % of the requests fail with a 5xx status.",
      statistic: "Average",
      threshold: 0.01,
    },
    {
      ...TWO_OF_THREE,
      ...gatewayMetric(monitored, "4XXError"),
      key: "4xx",
      description:
        "More than half of the requests fail with a 4xx status, such as 429 of the throttle that all callers share.",
      statistic: "Average",
      threshold: 0.5,
    },
    ...Object.entries(monitored.functions).flatMap(([role, name]) => functionAlarms(role, name)),
    ...Object.entries(monitored.tables).flatMap(([table, name]) => tableAlarms(table, name)),
    ...monitored.certificates.map(certificateAlarm),
    {
      ...TWO_OF_THREE,
      ...ownMetric(monitored, "ListFirstByte"),
      key: "first-byte",
      description: "The time to first byte of the list exceeds two seconds at the 95th percentile.",
      statistic: "p95",
      threshold: 2_000,
      datapoints: { breaching: 3, of: 3 },
    },
    {
      ...ownMetric(monitored, "ListRows"),
      key: "list-size",
      description: `A list has more than ${LONG_LIST_ORDERS.toLocaleString("en-US")} orders. A response ends at 200 MB, or 1.6 million orders if the client does not accept gzip. See infra/scale.md.`,
      statistic: "Maximum",
      comparison: "GreaterThanThreshold",
      threshold: LONG_LIST_ORDERS,
      periodSeconds: DAY_SECONDS,
      datapoints: { breaching: 1, of: 1 },
    },
  ];
}

/** A metric of the API's stage. */
export function gatewayMetric(
  { apiName, stageName }: MonitoredResources,
  metricName: string,
): MetricReference {
  return { namespace: "AWS/ApiGateway", metricName, dimensions: { ApiName: apiName, Stage: stageName } };
}

/** A metric of a function. */
export function functionMetric(name: pulumi.Input<string>, metricName: string): MetricReference {
  return { namespace: "AWS/Lambda", metricName, dimensions: { FunctionName: name } };
}

/** A metric of a table. */
export function tableMetric(name: pulumi.Input<string>, metricName: string): MetricReference {
  return { namespace: "AWS/DynamoDB", metricName, dimensions: { TableName: name } };
}

/** A metric that the functions write. */
export function ownMetric(
  { namespace }: MonitoredResources,
  metricName: string,
  dimensions: MetricReference["dimensions"] = {},
): MetricReference {
  return { namespace, metricName, dimensions };
}

function functionAlarms(role: string, name: pulumi.Input<string>): readonly Alarm[] {
  const invocations = `Invocations of the function '${role}'`;
  const descriptions = {
    Errors: `${invocations} fail.`,
    Throttles: `${invocations} are throttled: they exceed its concurrency.`,
  };
  return Object.entries(descriptions).map(([metricName, description]) => ({
    ...{ ...TWO_OF_THREE, ...functionMetric(name, metricName) },
    ...{ key: `${role}-${metricName.toLowerCase()}`, description },
  }));
}

function tableAlarms(table: string, name: pulumi.Input<string>): readonly Alarm[] {
  return (["Read", "Write"] as const).map((kind) => ({
    ...TWO_OF_THREE,
    ...tableMetric(name, `${kind}ThrottleEvents`),
    key: `${table}-${kind.toLowerCase()}-throttles`,
    description: `DynamoDB throttles ${kind.toLowerCase()}s on the ${table} table.`,
  }));
}

function certificateAlarm({ key, host, arn }: MonitoredResources["certificates"][number]): Alarm {
  return {
    namespace: "AWS/CertificateManager",
    metricName: "DaysToExpiry",
    dimensions: { CertificateArn: arn },
    key: `${key}-certificate`,
    // ACM begins 45 days before the end.
    description: `The certificate of ${host} expires in less than 30 days, and ACM has tried to renew it for two weeks. Check its validation record and its CAA records.`,
    statistic: "Minimum",
    comparison: "LessThanThreshold",
    threshold: 30,
    periodSeconds: DAY_SECONDS,
    datapoints: { breaching: 1, of: 1 },
  };
}
