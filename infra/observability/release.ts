import * as pulumi from "@pulumi/pulumi";
import { ALIAS } from "../functions/function.ts";
import type { FunctionRole } from "../functions/permissions.ts";
import { type Alarm, type MonitoredResources, ownMetric } from "./alarms.ts";

/** The functions of a service, of which a new version is about to get traffic. */
export type ReleasedFunctions = Readonly<
  Record<FunctionRole, { readonly function: Record<"name" | "version", pulumi.Output<string>> }>
>;

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

/** The output of a stack whose traffic is shifted by `store-orders release`. */
export function releaseOutput(
  { list, api }: ReleasedFunctions,
  alarms: ReleaseOutput["alarms"],
): ReleaseOutput {
  const functions = [list, api].map(({ function: { name, version } }) => ({ name, alias: ALIAS, version }));
  return { functions, alarms };
}

/**
 * The alarms on the new version of each function. Unlike the others they react to a single error within a minute, and
 * notify nobody: `store-orders release` watches them for a few minutes, and a shift that is reverted needlessly only
 * has to be started again.
 */
export function planReleaseAlarms(
  functions: ReleasedFunctions,
  monitored: MonitoredResources,
): readonly Alarm[] {
  return Object.entries(functions).flatMap(
    ([
      role,
      {
        function: { name, version },
      },
    ]) => [
      {
        ...WITHIN_A_MINUTE,
        namespace: "AWS/Lambda",
        metricName: "Errors",
        dimensions: {
          FunctionName: name,
          Resource: pulumi.interpolate`${name}:${ALIAS}`,
          ExecutedVersion: version,
        },
        key: `${role}-release-errors`,
        description: `Invocations of the new version of the function '${role}' fail.`,
      },
      {
        ...WITHIN_A_MINUTE,
        ...ownMetric(monitored, "ServerErrors", { Function: name, Version: version }),
        key: `${role}-release-5xx`,
        description: `The new version of the function '${role}' responds with a 5xx status.`,
      },
    ],
  );
}

const WITHIN_A_MINUTE = {
  statistic: "Sum",
  comparison: "GreaterThanThreshold",
  threshold: 0,
  periodSeconds: 60,
  datapoints: { breaching: 1, of: 1 },
} as const;
