import type * as pulumi from "@pulumi/pulumi";
import type { FunctionRole } from "../functions/permissions.ts";

/** The names that metrics are kept under. */
export interface MonitoredResources {
  readonly apiName: pulumi.Input<string>;
  readonly stageName: pulumi.Input<string>;
  readonly functions: Readonly<Record<FunctionRole, pulumi.Input<string>>>;
  readonly tables: Readonly<Record<"orders" | "accounts", pulumi.Input<string>>>;
  /** By the key of its host. */
  readonly certificates: readonly {
    readonly key: string;
    readonly host: string;
    readonly arn: pulumi.Input<string>;
  }[];
  /** The namespace of the metrics that the functions write themselves. */
  readonly namespace: string;
}

/** A metric by its name and dimensions. */
export interface Metric {
  readonly namespace: string;
  readonly metricName: string;
  readonly dimensions: Readonly<Record<string, pulumi.Input<string>>>;
}

/** When somebody should look. */
export interface Alarm extends Metric {
  /** Names it among the others. */
  readonly key: string;
  readonly description: string;
  readonly statistic: "Average" | "Sum" | "Minimum" | "p95";
  readonly comparison: "GreaterThanThreshold" | "LessThanThreshold";
  readonly threshold: number;
  /** Length of a period in seconds. */
  readonly period: number;
  /** It rings when so many of so many periods are beyond the threshold. */
  readonly outOf: readonly [bad: number, of: number];
}

const FIVE_MINUTES = 300;
const DAY = 86_400;
/** Two bad periods of three: one hiccup wakes nobody. */
const TWO_OF_THREE = {
  statistic: "Sum",
  comparison: "GreaterThanThreshold",
  threshold: 0,
  period: FIVE_MINUTES,
  outOf: [2, 3],
} as const;

/** Every alarm of a stack. Not one is about latency: that of a stream is its length. */
export function alarmPlan(watched: MonitoredResources): readonly Alarm[] {
  return [
    {
      ...TWO_OF_THREE,
      ...gatewayMetric(watched, "5XXError"),
      key: "5xx",
      description: "More than 1 % of the requests fail on our side.",
      statistic: "Average",
      threshold: 0.01,
    },
    ...Object.entries(watched.functions).flatMap(([role, name]) => functionAlarms(role, name)),
    ...Object.entries(watched.tables).flatMap(([table, name]) => tableAlarms(table, name)),
    ...watched.certificates.map(certificateAlarm),
    {
      ...TWO_OF_THREE,
      ...ownMetric(watched, "ListFirstByte"),
      key: "first-byte",
      description: "One list in twenty takes more than two seconds to begin.",
      statistic: "p95",
      threshold: 2_000,
      outOf: [3, 3],
    },
  ];
}

/** A metric of the API's stage. */
export function gatewayMetric({ apiName, stageName }: MonitoredResources, metricName: string): Metric {
  return { namespace: "AWS/ApiGateway", metricName, dimensions: { ApiName: apiName, Stage: stageName } };
}

/** A metric of a function. */
export function functionMetric(name: pulumi.Input<string>, metricName: string): Metric {
  return { namespace: "AWS/Lambda", metricName, dimensions: { FunctionName: name } };
}

/** A metric of a table. */
export function tableMetric(name: pulumi.Input<string>, metricName: string): Metric {
  return { namespace: "AWS/DynamoDB", metricName, dimensions: { TableName: name } };
}

/** A metric that the functions write themselves. */
export function ownMetric(
  { namespace }: MonitoredResources,
  metricName: string,
  dimensions: Metric["dimensions"] = {},
): Metric {
  return { namespace, metricName, dimensions };
}

function functionAlarms(role: string, name: pulumi.Input<string>): readonly Alarm[] {
  return [
    {
      ...TWO_OF_THREE,
      ...functionMetric(name, "Errors"),
      key: `${role}-errors`,
      description: `The function '${role}' fails.`,
    },
    {
      ...TWO_OF_THREE,
      ...functionMetric(name, "Throttles"),
      key: `${role}-throttles`,
      description: `The function '${role}' is called more often at once than its concurrency allows.`,
    },
  ];
}

function tableAlarms(table: string, name: pulumi.Input<string>): readonly Alarm[] {
  return (["Read", "Write"] as const).map((kind) => ({
    ...TWO_OF_THREE,
    ...tableMetric(name, `${kind}ThrottleEvents`),
    key: `${table}-${kind.toLowerCase()}-throttles`,
    description: `DynamoDB holds back calls (${kind.toLowerCase()}) to the table of ${table}.`,
  }));
}

function certificateAlarm({ key, host, arn }: MonitoredResources["certificates"][number]): Alarm {
  return {
    namespace: "AWS/CertificateManager",
    metricName: "DaysToExpiry",
    dimensions: { CertificateArn: arn },
    key: `${key}-certificate`,
    description: `The certificate of ${host} ends in less than 30 days and has not been renewed. Check its validation record and CAA.`,
    statistic: "Minimum",
    comparison: "LessThanThreshold",
    threshold: 30,
    period: DAY,
    outOf: [1, 1],
  };
}
