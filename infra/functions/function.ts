import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { typeToken } from "../names.ts";
import type { Statement } from "./permissions.ts";

/** What a function is made of. */
export interface OrdersFunctionArgs {
  readonly description: string;
  /** The bundle, and the function in it: `file.export`. */
  readonly code: pulumi.Input<pulumi.asset.Archive>;
  readonly handler: string;
  readonly environment: Readonly<Record<string, pulumi.Input<string>>>;
  /** What it may do besides writing its log. */
  readonly statements: readonly Statement[];
  readonly memoryMiB: number;
  readonly timeoutSeconds: number;
  /** How many requests it may answer at once, set aside from the account's. @default the account's, shared */
  readonly reservedConcurrency?: number;
  readonly logRetentionDays: number;
}

/** The alias that requests go to. It points at a published version, which a deployment moves at once. */
export const ALIAS = "live";

/** One function with all that is its own: log group, role, rights, and the alias on its published version. */
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
    const role = new aws.iam.Role(`${name}-role`, { assumeRolePolicy: LAMBDA_MAY_ASSUME }, parent);
    const rights = new aws.iam.RolePolicy(
      `${name}-rights`,
      { role: role.id, policy: policyOf([...args.statements, logStatement(this.logs.arn)]) },
      parent,
    );
    this.function = new aws.lambda.Function(
      `${name}-function`,
      functionArgs(args, role.arn, this.logs.name),
      {
        ...parent,
        dependsOn: rights,
      },
    );
    this.alias = new aws.lambda.Alias(
      `${name}-alias`,
      { name: ALIAS, functionName: this.function.name, functionVersion: this.function.version },
      parent,
    );
    this.registerOutputs({ alias: this.alias.arn });
  }

  /** What API Gateway calls to get the whole answer at once. */
  get invokeUri(): pulumi.Output<string> {
    return this.alias.invokeArn;
  }

  /** What API Gateway calls to stream the answer. The provider knows it for the function only, not for an alias. */
  get streamUri(): pulumi.Output<string> {
    return pulumi
      .all([this.function.responseStreamingInvokeArn, this.function.arn, this.alias.arn])
      .apply(([uri, unqualified, qualified]) => uri.replace(unqualified, qualified));
  }
}

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

const LAMBDA_MAY_ASSUME = {
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: "lambda.amazonaws.com" } }],
} as const satisfies aws.iam.PolicyDocument;

function policyOf(statements: readonly Statement[]): aws.iam.PolicyDocument {
  return { Version: "2012-10-17", Statement: [...statements] };
}

/** The streams of the log are Lambda's to name, so they are the one thing that a right leaves open. */
function logStatement(logGroup: pulumi.Output<string>): Statement {
  return {
    Effect: "Allow",
    Action: ["logs:CreateLogStream", "logs:PutLogEvents"],
    Resource: pulumi.interpolate`${logGroup}:*`,
  };
}
