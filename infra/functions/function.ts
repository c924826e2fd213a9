import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { renamedFrom, typeToken } from "../names.ts";
import type { Statement } from "./permissions.ts";

/** Arguments of {@link OrdersFunction}. */
export interface OrdersFunctionArgs {
  readonly description: string;
  readonly code: pulumi.Input<pulumi.asset.Archive>;
  /** `file.export` in the bundle. */
  readonly handler: string;
  readonly environment: Readonly<Record<string, pulumi.Input<string>>>;
  /** Its permissions besides writing its log. */
  readonly statements: readonly Statement[];
  readonly memoryMiB: number;
  readonly timeoutSeconds: number;
  /** Reserves this many concurrent executions. @default none: shares those of the account */
  readonly reservedConcurrency?: number;
  readonly logRetentionDays: number;
  /** Leaves the alias to `store-orders release`, which moves it to a new version in steps. @default false */
  readonly canary?: boolean;
}

/** The alias that API Gateway invokes. It points to a published version; a deployment or a release moves it. */
export const ALIAS = "live";

/** A function with its own log group, role, policy, and an alias on its published version. */
export class OrdersFunction extends pulumi.ComponentResource {
  readonly function: aws.lambda.Function;
  readonly alias: aws.lambda.Alias;
  readonly logs: aws.cloudwatch.LogGroup;

  constructor(name: string, args: OrdersFunctionArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("OrdersFunction"), name, {}, options);
    const parent = { parent: this };

    this.logs = new aws.cloudwatch.LogGroup(
      `${name}-logs`,
      { retentionInDays: args.logRetentionDays },
      parent,
    );
    const role = new aws.iam.Role(`${name}-role`, { assumeRolePolicy: LAMBDA_TRUST_POLICY }, parent);
    const policy = new aws.iam.RolePolicy(
      `${name}-policy`,
      { role: role.id, policy: policyOf([...args.statements, logStatement(this.logs.arn)]) },
      { ...parent, ...renamedFrom(`${name}-rights`) },
    );
    this.function = new aws.lambda.Function(
      `${name}-function`,
      functionArgs(args, role.arn, this.logs.name),
      {
        ...parent,
        dependsOn: policy,
      },
    );
    this.alias = new aws.lambda.Alias(
      `${name}-alias`,
      { name: ALIAS, functionName: this.function.name, functionVersion: this.function.version },
      // The first version gets all traffic when the alias is created. Later updates neither move nor show the alias.
      args.canary === true ? { ...parent, ignoreChanges: [...SET_BY_A_RELEASE] } : parent,
    );
    this.registerOutputs({ alias: this.alias.arn });
  }

  /** The URI of an integration that buffers the response. */
  get invokeUri(): pulumi.Output<string> {
    return this.alias.invokeArn;
  }

  /** The URI of an integration that streams the response. The provider has it only for functions, not for aliases. */
  get streamUri(): pulumi.Output<string> {
    return pulumi
      .all([this.function.responseStreamingInvokeArn, this.function.arn, this.alias.arn])
      .apply(([uri, unqualified, qualified]) => uri.replace(unqualified, qualified));
  }
}

const SET_BY_A_RELEASE = ["functionVersion", "routingConfig", "description"] as const;

function functionArgs(
  args: OrdersFunctionArgs,
  role: pulumi.Input<string>,
  logGroup: pulumi.Input<string>,
): aws.lambda.FunctionArgs {
  return {
    description: args.description,
    code: args.code,
    handler: args.handler,
    runtime: "nodejs24.x",
    architectures: ["arm64"],
    role,
    environment: { variables: args.environment },
    memorySize: args.memoryMiB,
    timeout: args.timeoutSeconds,
    ...(args.reservedConcurrency === undefined
      ? {}
      : { reservedConcurrentExecutions: args.reservedConcurrency }),
    loggingConfig: { logFormat: "JSON", logGroup },
    publish: true,
  };
}

const LAMBDA_TRUST_POLICY = {
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: "lambda.amazonaws.com" } }],
} as const satisfies aws.iam.PolicyDocument;

function policyOf(statements: readonly Statement[]): aws.iam.PolicyDocument {
  return { Version: "2012-10-17", Statement: [...statements] };
}

/** Lambda chooses the names of log streams, so this is the only wildcard in the policy. */
function logStatement(logGroup: pulumi.Output<string>): Statement {
  return {
    Effect: "Allow",
    Action: ["logs:CreateLogStream", "logs:PutLogEvents"],
    Resource: pulumi.interpolate`${logGroup}:*`,
  };
}
