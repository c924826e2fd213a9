import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { typeToken } from "../names.ts";
import { type MonitoredResources, planAlarms } from "./alarms.ts";
import { dashboardBody } from "./dashboard.ts";

/** Arguments of {@link Observability}. */
export interface ObservabilityArgs {
  readonly monitored: MonitoredResources;
  readonly region: pulumi.Input<string>;
  /** Receives alarms by e-mail after confirming the subscription. @default none: alarms are only shown */
  readonly email?: pulumi.Input<string> | undefined;
}

/** The alarms and the dashboard of the service. */
export class Observability extends pulumi.ComponentResource {
  readonly dashboardUrl: pulumi.Output<string>;

  constructor(name: string, args: ObservabilityArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("Observability"), name, {}, options);
    const { monitored, email, region } = args;
    const parent = { parent: this, ...(options?.dependsOn && { dependsOn: options.dependsOn }) };
    // Dashboards are visible in every region of the account.
    const prefix = pulumi.interpolate`${monitored.namespace}-${region}`;
    let actions = {};
    if (email !== undefined) {
      const { arn: topic } = new aws.sns.Topic(`${name}-alarms`, {}, parent);
      const subscription = { topic, protocol: "email", endpoint: email };
      new aws.sns.TopicSubscription(`${name}-email`, subscription, parent);
      actions = { alarmActions: [topic], okActions: [topic] };
    }
    for (const { key, ...alarm } of planAlarms(monitored)) {
      // A fixed name: CloudWatch overwrites an alarm of the same name, so an interrupted update leaves none behind.
      const named = { ...alarm, name: pulumi.interpolate`${prefix}-${key}` };
      const alarmArgs = { treatMissingData: "notBreaching", ...named, ...actions };
      new aws.cloudwatch.MetricAlarm(`${name}-${key}`, alarmArgs, parent);
    }
    const body = pulumi.jsonStringify(dashboardBody(monitored, region));
    const dashboardArgs = { dashboardName: prefix, dashboardBody: body };
    const dashboard = new aws.cloudwatch.Dashboard(`${name}-dashboard`, dashboardArgs, parent);
    this.dashboardUrl = pulumi.interpolate`https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboard.dashboardName}`;
    this.registerOutputs({ dashboardUrl: this.dashboardUrl });
  }
}
