import { CloudWatchClient, DescribeAlarmsCommand } from "@aws-sdk/client-cloudwatch";
import {
  type AliasConfiguration,
  GetAliasCommand,
  LambdaClient,
  UpdateAliasCommand,
} from "@aws-sdk/client-lambda";
import { invalidInput } from "../core/errors.ts";
import type { AliasState, ReleasePlatform } from "./release-shift.ts";

/** The description of an alias after a shift. It is where a rollback finds the version before. */
const PREVIOUS = "Previous version: ";

/** Releases through the APIs of Lambda and CloudWatch. Region, credentials and endpoint come from the environment. */
export function createAwsPlatform(): ReleasePlatform {
  const lambda = new LambdaClient({});
  const cloudWatch = new CloudWatchClient({});
  return {
    async find({ name, alias }) {
      return stateOf(await lambda.send(new GetAliasCommand({ FunctionName: name, Name: alias })));
    },
    async route({ name, alias }, { version, canary, previous, revision }) {
      const change = new UpdateAliasCommand({
        FunctionName: name,
        Name: alias,
        RevisionId: revision,
        FunctionVersion: version,
        RoutingConfig: { AdditionalVersionWeights: canary ? { [canary.version]: canary.weight } : {} },
        Description: previous === undefined ? "" : `${PREVIOUS}${previous}`,
      });
      return stateOf(await lambda.send(change));
    },
    async findFiring(alarms) {
      const request = new DescribeAlarmsCommand({ AlarmNames: [...alarms] });
      const { MetricAlarms = [] } = await cloudWatch.send(request);
      const states = new Map(MetricAlarms.map(({ AlarmName, StateValue }) => [AlarmName, StateValue]));
      const missing = alarms.filter((name) => !states.has(name));
      if (missing.length > 0) {
        const message = `The alarms ${missing.join(", ")} do not exist. Pass the outputs of the last update, and check AWS_REGION.`;
        throw invalidInput("--stack", message);
      }
      return alarms.filter((name) => states.get(name) === "ALARM");
    },
  };
}

function stateOf(alias: AliasConfiguration): AliasState {
  const { FunctionVersion: version = "", RevisionId: revision = "", Description = "", RoutingConfig } = alias;
  const [canary] = Object.entries(RoutingConfig?.AdditionalVersionWeights ?? {});
  return {
    version,
    revision,
    ...(canary && { canary: { version: canary[0], weight: canary[1] } }),
    ...(Description.startsWith(PREVIOUS) && { previous: Description.slice(PREVIOUS.length) }),
  };
}
