import type * as aws from "@pulumi/aws";
import type * as pulumi from "@pulumi/pulumi";
import type { FunctionRole } from "../functions/permissions.ts";
import { LONG_LIST_ORDERS } from "../functions/telemetry.ts";

/** By the names that CloudWatch uses. */
export interface MonitoredResources {
  readonly apiName: pulumi.Input<string>;
  readonly stageName: pulumi.Input<string>;
  readonly functions: Readonly<
    Record<FunctionRole, pulumi.Input<string>> & { events?: pulumi.Input<string> }
  >;
  readonly tables: Readonly<Record<"orders" | "accounts", pulumi.Input<string>>>;
  /** The names of the plans that accounts can have. @default PLANS */
  readonly plans?: readonly string[];
  readonly certificates: readonly {
    /** Identifies the host in logical names. */
    readonly key: string;
    readonly host: string;
    readonly arn: pulumi.Input<string>;
  }[];
  /** Of the metrics that the functions write, and of the names of the alarms and the dashboard: unique in the AWS account. */
  readonly namespace: string;
}

export interface MetricReference {
  readonly namespace: string;
  readonly metricName: string;
  readonly dimensions: Record<string, pulumi.Input<string>>;
}

interface Rule extends Omit<aws.cloudwatch.MetricAlarmArgs, keyof MetricReference | "alarmDescription"> {
  readonly threshold: number;
}

interface Alarm extends Rule, MetricReference {
  readonly alarmDescription: string;
  /** Unique; part of the logical name. */
  readonly key: string;
}

const ABOVE_ZERO = { comparisonOperator: "GreaterThanThreshold", threshold: 0 };
const FIVE_MINUTES = { ...ABOVE_ZERO, period: 300, evaluationPeriods: 3 };
/** More than none in two of three periods: a single spike does not alarm. */
const TWO_OF_THREE = { ...FIVE_MINUTES, statistic: "Sum", datapointsToAlarm: 2 };
const AT_ONCE = { ...FIVE_MINUTES, statistic: "Maximum", evaluationPeriods: 1, datapointsToAlarm: 1 };
const ONE_DAY = { ...ABOVE_ZERO, period: 86_400, evaluationPeriods: 1, datapointsToAlarm: 1 };

/** The alarms of a stack. None uses latency, because the latency of a stream includes its whole transfer. */
export function planAlarms(monitored: MonitoredResources): readonly Alarm[] {
  const { functions, tables, certificates } = monitored;
  const { gateway, ofFunction, ofTable, ofCertificate, own } = metricsOf(monitored);
  const alarm = (key: string, metric: MetricReference, rule: Rule, alarmDescription: string): Alarm => {
    return { ...rule, ...metric, key, alarmDescription };
  };
  const share = (threshold: number) => ({ ...TWO_OF_THREE, statistic: "Average", threshold });
  const changes = [
    alarm(
      "changes-age",
      own("ChangesAge"),
      // The function writes the metric every minute. Without it, nobody sends changes.
      { ...AT_ONCE, threshold: 300, treatMissingData: "breaching" },
      "A change of an order has waited for more than five minutes to be sent to EventBridge, or the function that sends changes does not run.",
    ),
    alarm(
      "changes-failed",
      own("ChangesFailed"),
      AT_ONCE,
      "EventBridge did not accept a change of an order in any attempt. See `store-orders changes list --failed`; `changes retry` sends it again.",
    ),
  ];
  return [
    alarm("5xx", gateway("5XXError"), share(0.01), "More than 1 % of the requests fail with a 5xx status."),
    alarm(
      "4xx",
      gateway("4XXError"),
      share(0.5),
      "More than half of the requests fail with a 4xx status, such as 429 of the throttle that all callers share.",
    ),
    ...Object.entries(functions).flatMap(([role, name]) => {
      const invocations = (metric: string, problem: string) => {
        const description = `Invocations of the function '${role}' ${problem}.`;
        return alarm(`${role}-${metric.toLowerCase()}`, ofFunction(name, metric), TWO_OF_THREE, description);
      };
      const throttled = "are throttled: they exceed its concurrency";
      return [invocations("Errors", "fail"), invocations("Throttles", throttled)];
    }),
    ...Object.entries(tables).flatMap(([table, name]) =>
      ["Read", "Write"].map((kind) =>
        alarm(
          `${table}-${kind.toLowerCase()}-throttles`,
          ofTable(name, `${kind}ThrottleEvents`),
          TWO_OF_THREE,
          `DynamoDB throttles ${kind.toLowerCase()}s on the ${table} table.`,
        ),
      ),
    ),
    ...certificates.map(({ key, host, arn }) =>
      alarm(
        `${key}-certificate`,
        ofCertificate(arn, "DaysToExpiry"),
        // ACM begins 45 days before the end.
        { ...ONE_DAY, statistic: "Minimum", comparisonOperator: "LessThanThreshold", threshold: 30 },
        `The certificate of ${host} expires in less than 30 days, and ACM has tried to renew it for two weeks. Check its validation record and its CAA records.`,
      ),
    ),
    ...(functions.events === undefined ? [] : changes),
    alarm(
      "first-byte",
      own("ListFirstByte"),
      { ...FIVE_MINUTES, extendedStatistic: "p95", threshold: 2_000, datapointsToAlarm: 3 },
      "The time to first byte of the list exceeds two seconds at the 95th percentile.",
    ),
    alarm(
      "list-size",
      own("ListRows"),
      { ...ONE_DAY, statistic: "Maximum", threshold: LONG_LIST_ORDERS },
      `A list has more than ${LONG_LIST_ORDERS.toLocaleString("en-US")} orders. A response ends at 200 MB, or 1.6 million orders if the client does not accept gzip. See infra/scale.md.`,
    ),
  ];
}

export function metricsOf({ apiName, stageName, namespace }: MonitoredResources) {
  const metric = (namespace: string, metricName: string, dimensions: MetricReference["dimensions"]) => {
    return { namespace, metricName, dimensions };
  };
  const by = (namespace: string, dimension: string) => (name: pulumi.Input<string>, metricName: string) =>
    metric(namespace, metricName, { [dimension]: name });
  return {
    gateway: (name: string) => metric("AWS/ApiGateway", name, { ApiName: apiName, Stage: stageName }),
    ofFunction: by("AWS/Lambda", "FunctionName"),
    ofTable: by("AWS/DynamoDB", "TableName"),
    ofCertificate: by("AWS/CertificateManager", "CertificateArn"),
    own: (name: string, dimensions = {}) => metric(namespace, name, dimensions),
  };
}
