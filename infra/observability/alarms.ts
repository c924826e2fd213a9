import type * as aws from "@pulumi/aws";
import type * as pulumi from "@pulumi/pulumi";
import type { FunctionRole } from "../functions/permissions.ts";
import { LONG_LIST_ORDERS } from "../functions/telemetry.ts";

/** The resources with metrics, by the names that CloudWatch uses. */
export interface MonitoredResources {
  readonly apiName: pulumi.Input<string>;
  readonly stageName: pulumi.Input<string>;
  /** `events` is the function that sends changes, if there is one. */
  readonly functions: Readonly<
    Record<FunctionRole, pulumi.Input<string>> & { events?: pulumi.Input<string> }
  >;
  readonly tables: Readonly<Record<"orders" | "accounts", pulumi.Input<string>>>;
  readonly certificates: readonly {
    /** Identifies the host in logical names. */
    readonly key: string;
    readonly host: string;
    readonly arn: pulumi.Input<string>;
  }[];
  /**
   * The namespace of the metrics that the functions write, and the start of the names of the alarms and the dashboard: no
   * other stack of the AWS account may use it.
   */
  readonly namespace: string;
}

/** A metric by its name and dimensions. */
export interface MetricReference {
  readonly namespace: string;
  readonly metricName: string;
  readonly dimensions: Record<string, pulumi.Input<string>>;
}

export interface Alarm extends aws.cloudwatch.MetricAlarmArgs {
  /** Unique; part of the logical name. */
  readonly key: string;
  readonly threshold: number;
}

const ABOVE_ZERO = { comparisonOperator: "GreaterThanThreshold", threshold: 0 } as const;
const FIVE_MINUTES = { ...ABOVE_ZERO, period: 300, evaluationPeriods: 3 } as const;
/** More than none in two of three periods: a single spike does not alarm. */
const TWO_OF_THREE = { ...FIVE_MINUTES, statistic: "Sum", datapointsToAlarm: 2 } as const;
const ONE_DAY = { ...ABOVE_ZERO, period: 86_400, evaluationPeriods: 1, datapointsToAlarm: 1 } as const;

/** The alarms of a stack. None uses latency, because the latency of a stream includes its whole transfer. */
export function planAlarms(monitored: MonitoredResources): readonly Alarm[] {
  const { functions, tables, certificates } = monitored;
  return [
    {
      ...TWO_OF_THREE,
      ...gatewayMetric(monitored, "5XXError"),
      key: "5xx",
      statistic: "Average",
      threshold: 0.01,
      alarmDescription: "More than 1 % of the requests fail with a 5xx status.",
    },
    {
      ...TWO_OF_THREE,
      ...gatewayMetric(monitored, "4XXError"),
      key: "4xx",
      statistic: "Average",
      threshold: 0.5,
      alarmDescription:
        "More than half of the requests fail with a 4xx status, such as 429 of the throttle that all callers share.",
    },
    ...Object.entries(functions).flatMap(([role, name]) => {
      const alarm = (metricName: string, problem: string) => ({
        ...TWO_OF_THREE,
        ...functionMetric(name, metricName),
        key: `${role}-${metricName.toLowerCase()}`,
        alarmDescription: `Invocations of the function '${role}' ${problem}.`,
      });
      return [alarm("Errors", "fail"), alarm("Throttles", "are throttled: they exceed its concurrency")];
    }),
    ...Object.entries(tables).flatMap(([table, name]) =>
      ["Read", "Write"].map((kind) => ({
        ...TWO_OF_THREE,
        ...tableMetric(name, `${kind}ThrottleEvents`),
        key: `${table}-${kind.toLowerCase()}-throttles`,
        alarmDescription: `DynamoDB throttles ${kind.toLowerCase()}s on the ${table} table.`,
      })),
    ),
    ...certificates.map(({ key, host, arn }) => ({
      ...ONE_DAY,
      namespace: "AWS/CertificateManager",
      metricName: "DaysToExpiry",
      dimensions: { CertificateArn: arn },
      key: `${key}-certificate`,
      statistic: "Minimum",
      comparisonOperator: "LessThanThreshold",
      threshold: 30,
      // ACM begins 45 days before the end.
      alarmDescription: `The certificate of ${host} expires in less than 30 days, and ACM has tried to renew it for two weeks. Check its validation record and its CAA records.`,
    })),
    ...(functions.events === undefined ? [] : planEventAlarms(monitored)),
    {
      ...FIVE_MINUTES,
      ...ownMetric(monitored, "ListFirstByte"),
      key: "first-byte",
      extendedStatistic: "p95",
      threshold: 2_000,
      datapointsToAlarm: 3,
      alarmDescription: "The time to first byte of the list exceeds two seconds at the 95th percentile.",
    },
    {
      ...ONE_DAY,
      ...ownMetric(monitored, "ListRows"),
      key: "list-size",
      statistic: "Maximum",
      threshold: LONG_LIST_ORDERS,
      alarmDescription: `A list has more than ${LONG_LIST_ORDERS.toLocaleString("en-US")} orders. A response ends at 200 MB, or 1.6 million orders if the client does not accept gzip. See infra/scale.md.`,
    },
  ];
}

/** The alarms on changes that EventBridge has not accepted. */
function planEventAlarms(monitored: MonitoredResources): readonly Alarm[] {
  const withinFiveMinutes = {
    ...FIVE_MINUTES,
    statistic: "Maximum",
    evaluationPeriods: 1,
    datapointsToAlarm: 1,
  };
  return [
    {
      ...withinFiveMinutes,
      ...ownMetric(monitored, "ChangesAge"),
      key: "changes-age",
      threshold: 300,
      // The function writes the metric every minute. Without it, nobody sends changes.
      treatMissingData: "breaching",
      alarmDescription:
        "A change of an order has waited for more than five minutes to be sent to EventBridge, or the function that sends changes does not run.",
    },
    {
      ...withinFiveMinutes,
      ...ownMetric(monitored, "ChangesFailed"),
      key: "changes-failed",
      alarmDescription:
        "EventBridge did not accept a change of an order in any attempt. See `store-orders changes list --failed`; `changes retry` sends it again.",
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

export function functionMetric(name: pulumi.Input<string>, metricName: string): MetricReference {
  return { namespace: "AWS/Lambda", metricName, dimensions: { FunctionName: name } };
}

export function tableMetric(name: pulumi.Input<string>, metricName: string): MetricReference {
  return { namespace: "AWS/DynamoDB", metricName, dimensions: { TableName: name } };
}

export function ownMetric(
  { namespace }: MonitoredResources,
  metricName: string,
  dimensions: MetricReference["dimensions"] = {},
): MetricReference {
  return { namespace, metricName, dimensions };
}
