import { CloudWatchClient, DescribeAlarmsCommand } from "@aws-sdk/client-cloudwatch";
import { GetAliasCommand, LambdaClient, UpdateAliasCommand } from "@aws-sdk/client-lambda";
import { invalidInput } from "../core/errors.ts";
import type { AliasState, ReleasePlatform, Routing } from "./release-shift.ts";

/** The part of an alias in Lambda's responses that is used here. */
interface AliasConfiguration {
  readonly FunctionVersion?: string | undefined;
  readonly Description?: string | undefined;
  readonly RevisionId?: string | undefined;
  readonly RoutingConfig?:
    | { readonly AdditionalVersionWeights?: Record<string, number> | undefined }
    | undefined;
}

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
    async route({ name, alias }, { previous, revision, ...routing }) {
      return stateOf(
        await lambda.send(
          new UpdateAliasCommand({
            FunctionName: name,
            Name: alias,
            RevisionId: revision,
            FunctionVersion: routing.version,
            RoutingConfig: { AdditionalVersionWeights: weightsOf(routing) },
            Description: previous === undefined ? "" : `${PREVIOUS}${previous}`,
          }),
        ),
      );
    },
    async findFiring(alarms) {
      const { MetricAlarms = [] } = await cloudWatch.send(
        new DescribeAlarmsCommand({ AlarmNames: [...alarms] }),
      );
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

function weightsOf({ canary }: Routing): Record<string, number> {
  return canary === undefined ? {} : { [canary.version]: canary.weight };
}

function stateOf({
  FunctionVersion = "",
  Description = "",
  RevisionId = "",
  RoutingConfig,
}: AliasConfiguration): AliasState {
  const [canary] = Object.entries(RoutingConfig?.AdditionalVersionWeights ?? {});
  const previous = Description.startsWith(PREVIOUS) ? Description.slice(PREVIOUS.length) : undefined;
  return {
    version: FunctionVersion,
    revision: RevisionId,
    ...(canary === undefined ? {} : { canary: { version: canary[0], weight: canary[1] } }),
    ...(previous === undefined ? {} : { previous }),
  };
}
