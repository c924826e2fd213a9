import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { ALIAS } from "../functions/function.ts";
import { typeToken } from "../names.ts";
import {
  type Alarm,
  type MonitoredResources,
  planAlarms,
  planReleaseAlarms,
  type ReleasedFunctions,
} from "./alarms.ts";
import { dashboardBody } from "./dashboard.ts";

/** Arguments of {@link Observability}. */
export interface ObservabilityArgs {
  readonly monitored: MonitoredResources;
  readonly region: pulumi.Input<string>;
  /** The functions whose new versions get alarms of their own. @default none: no such alarms */
  readonly released?: ReleasedFunctions | undefined;
  /** Receives alarms by e-mail after confirming the subscription. @default none: alarms are only shown */
  readonly email?: pulumi.Input<string> | undefined;
}

/** The input of `store-orders release`: the version that gets the traffic, and the alarms to watch. */
export interface ReleaseOutput {
  readonly functions: readonly {
    readonly name: pulumi.Output<string>;
    readonly alias: string;
    readonly version: pulumi.Output<string>;
  }[];
  /** The names of the alarms on the new version. */
  readonly alarms: readonly pulumi.Output<string>[];
}

/** The alarms and the dashboard of the service. */
export class Observability extends pulumi.ComponentResource {
  readonly dashboardUrl: pulumi.Output<string>;
  /** Missing without `released`. */
  readonly release?: ReleaseOutput;

  constructor(name: string, args: ObservabilityArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("Observability"), name, {}, options);
    const { monitored, email, region, released } = args;
    const parent = { parent: this, ...(options?.dependsOn && { dependsOn: options.dependsOn }) };
    // Dashboards are visible in every region of the account.
    const prefix = pulumi.interpolate`${monitored.namespace}-${region}`;
    const createAlarm = ({ key, ...alarm }: Alarm, actions: object = {}) =>
      new aws.cloudwatch.MetricAlarm(
        `${name}-${key}`,
        // A fixed name: CloudWatch overwrites an alarm of the same name, so an interrupted update leaves none behind.
        {
          treatMissingData: "notBreaching",
          ...alarm,
          ...actions,
          name: pulumi.interpolate`${prefix}-${key}`,
        },
        parent,
      );

    let actions = {};
    if (email !== undefined) {
      const topic = new aws.sns.Topic(`${name}-alarms`, {}, parent);
      const subscription = { topic: topic.arn, protocol: "email", endpoint: email };
      new aws.sns.TopicSubscription(`${name}-email`, subscription, parent);
      actions = { alarmActions: [topic.arn], okActions: [topic.arn] };
    }
    for (const alarm of planAlarms(monitored)) createAlarm(alarm, actions);
    if (released !== undefined) {
      const functions = [released.list.function, released.api.function];
      this.release = {
        functions: functions.map(({ name, version }) => ({ name, alias: ALIAS, version })),
        alarms: planReleaseAlarms(released, monitored).map((alarm) => createAlarm(alarm).name),
      };
    }
    const body = pulumi.jsonStringify(dashboardBody(monitored, region));
    const dashboardArgs = { dashboardName: prefix, dashboardBody: body };
    const dashboard = new aws.cloudwatch.Dashboard(`${name}-dashboard`, dashboardArgs, parent);
    this.dashboardUrl = pulumi.interpolate`https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboard.dashboardName}`;
    this.registerOutputs({ dashboardUrl: this.dashboardUrl });
  }
}
