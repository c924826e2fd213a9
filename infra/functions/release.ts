import * as pulumi from "@pulumi/pulumi";
import type { ReleasedFunction } from "../observability/release-alarms.ts";
import { ALIAS, type OrdersFunction } from "./function.ts";
import type { FunctionRole } from "./permissions.ts";

/** What `store-orders release` needs to know: the version that gets the traffic, and the alarms to watch. */
export interface ReleaseOutput {
  readonly functions: readonly {
    readonly name: pulumi.Output<string>;
    readonly alias: string;
    readonly version: pulumi.Output<string>;
  }[];
  /** The names of the alarms on the new version. */
  readonly alarms: readonly pulumi.Output<string>[];
}

type Functions = Readonly<Record<FunctionRole, Pick<OrdersFunction, "function">>>;

/** The new version of each function, for its alarms. */
export function releasedFunctions({
  list,
  api,
}: Functions): Readonly<Record<FunctionRole, ReleasedFunction>> {
  const released = ({ function: { name, version } }: Functions[FunctionRole]) => ({
    name,
    version,
    resource: pulumi.interpolate`${name}:${ALIAS}`,
  });
  return { list: released(list), api: released(api) };
}

/** The output of a stack whose traffic is shifted by `store-orders release`. */
export function releaseOutput({ list, api }: Functions, alarms: ReleaseOutput["alarms"]): ReleaseOutput {
  const functions = [list, api].map(({ function: { name, version } }) => ({ name, alias: ALIAS, version }));
  return { functions, alarms };
}
