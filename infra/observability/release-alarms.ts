import type * as pulumi from "@pulumi/pulumi";
import type { FunctionRole } from "../functions/permissions.ts";
import { type Alarm, type MonitoredResources, ownMetric } from "./alarms.ts";

/** A version of a function that is about to get traffic. */
export interface ReleasedFunction {
  /** The name of the function. */
  readonly name: pulumi.Input<string>;
  readonly version: pulumi.Input<string>;
  /** `<function>:<alias>`, as CloudWatch names what was invoked. */
  readonly resource: pulumi.Input<string>;
}

/**
 * The alarms on the new version of each function. Unlike the others they react to a single error within a minute, and
 * notify nobody: `store-orders release` watches them for a few minutes, and a shift that is reverted needlessly only
 * has to be started again.
 */
export function planReleaseAlarms(
  functions: Readonly<Record<FunctionRole, ReleasedFunction>>,
  monitored: MonitoredResources,
): readonly Alarm[] {
  return Object.entries(functions).flatMap(([role, { name, version, resource }]) => [
    {
      ...WITHIN_A_MINUTE,
      namespace: "AWS/Lambda",
      metricName: "Errors",
      dimensions: { FunctionName: name, Resource: resource, ExecutedVersion: version },
      key: `${role}-release-errors`,
      description: `Invocations of the new version of the function '${role}' fail.`,
    },
    {
      ...WITHIN_A_MINUTE,
      ...ownMetric(monitored, "ServerErrors", { Function: name, Version: version }),
      key: `${role}-release-5xx`,
      description: `The new version of the function '${role}' responds with a 5xx status.`,
    },
  ]);
}

const WITHIN_A_MINUTE = {
  statistic: "Sum",
  comparison: "GreaterThanThreshold",
  threshold: 0,
  periodSeconds: 60,
  datapoints: { breaching: 1, of: 1 },
} as const;
