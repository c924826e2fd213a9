import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { typeToken } from "../names.ts";
import { type Alarm, type MonitoredResources, planAlarms } from "./alarms.ts";
import { dashboardBody } from "./dashboard.ts";
import { planReleaseAlarms, type ReleasedFunctions } from "./release.ts";

/** Arguments of {@link Observability}. */
export interface ObservabilityArgs {
  readonly monitored: MonitoredResources;
  readonly region: pulumi.Input<string>;
  /** The functions whose new versions get alarms of their own. @default none: no such alarms */
  readonly released?: ReleasedFunctions | undefined;
  /** Receives alarms by e-mail after confirming the subscription. @default none: alarms are only shown */
  readonly email?: pulumi.Input<string> | undefined;
}

/** The alarms and the dashboard of the service. */
export class Observability extends pulumi.ComponentResource {
  readonly dashboardUrl: pulumi.Output<string>;
  /** The names of the alarms on the new versions. */
  readonly releaseAlarms: readonly pulumi.Output<string>[];

  readonly #name: string;

  constructor(name: string, args: ObservabilityArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("Observability"), name, {}, options);
    this.#name = name;
    const { monitored, email, region, released } = args;

    const topic = email === undefined ? undefined : this.#topic(email);
    for (const alarm of planAlarms(monitored)) this.#alarm(alarm, topic);
    const releaseAlarms = released === undefined ? [] : planReleaseAlarms(released, monitored);
    this.releaseAlarms = releaseAlarms.map((alarm) => this.#alarm(alarm, undefined).name);
    const body = pulumi.jsonStringify(dashboardBody(monitored, region));
    const dashboardArgs = { dashboardName: name, dashboardBody: body };
    const dashboard = new aws.cloudwatch.Dashboard(`${name}-dashboard`, dashboardArgs, { parent: this });
    this.dashboardUrl = pulumi.interpolate`https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboard.dashboardName}`;
    this.registerOutputs({ dashboardUrl: this.dashboardUrl });
  }

  #topic(endpoint: pulumi.Input<string>) {
    const topic = new aws.sns.Topic(`${this.#name}-alarms`, {}, { parent: this });
    const args = { topic: topic.arn, protocol: "email", endpoint };
    new aws.sns.TopicSubscription(`${this.#name}-email`, args, { parent: this });
    return topic;
  }

  #alarm({ key, datapoints, ...alarm }: Alarm, topic: aws.sns.Topic | undefined) {
    const percentile = alarm.statistic === "p95";
    const actions = topic === undefined ? {} : { alarmActions: [topic.arn], okActions: [topic.arn] };
    return new aws.cloudwatch.MetricAlarm(
      `${this.#name}-${key}`,
      {
        // A fixed name: CloudWatch overwrites an alarm of the same name, so an interrupted update leaves none behind.
        name: `${this.#name}-${key}`,
        alarmDescription: alarm.description,
        namespace: alarm.namespace,
        metricName: alarm.metricName,
        dimensions: alarm.dimensions,
        ...(percentile ? { extendedStatistic: alarm.statistic } : { statistic: alarm.statistic }),
        comparisonOperator: alarm.comparison,
        threshold: alarm.threshold,
        period: alarm.periodSeconds,
        evaluationPeriods: datapoints.of,
        datapointsToAlarm: datapoints.breaching,
        treatMissingData: "notBreaching",
        ...actions,
      },
      { parent: this },
    );
  }
}
