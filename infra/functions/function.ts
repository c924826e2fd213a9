import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { typeToken } from "../names.ts";
import { type BundleOptions, buildFunctions } from "./build.ts";
import { allow, type Statement } from "./permissions.ts";

/**
 * Bundles the functions. The archive refers to files in a temporary folder, so that the stack's state holds their hashes
 * instead of their content. The path `entry` is relative to `Pulumi.yaml`.
 *
 * @throws {InvalidInputError} if there is no module `entry`, or it does not export both functions
 */
export async function functionCode({ entry, ...others }: BundleOptions = {}): Promise<pulumi.asset.Archive> {
  const options = { ...others, entry: entry && inProject(entry) };
  const bundle = await buildFunctions(options).catch((failure: Error) => {
    // What is wrong in a source, such as an import of a package that is not installed, is shown without a stack trace.
    throw "errors" in failure ? new pulumi.RunError(failure.message) : failure;
  });
  const folder = temporaryFolder();
  const modules = Object.entries(bundle).filter(([file]) => file.endsWith(".mjs"));
  const assets = modules.map(([file, content]) => {
    const path = join(folder, file);
    writeFileSync(path, content);
    return [file, new pulumi.asset.FileAsset(path)];
  });
  return new pulumi.asset.AssetArchive(Object.fromEntries(assets));
}

/** The program runs in the folder of its `main`, which need not be that of `Pulumi.yaml`. */
function inProject(path: string): string {
  const root = pulumi.getRootDirectory();
  // Outside of a program it is not a folder.
  return isAbsolute(root) ? resolve(root, path) : path;
}

const temporaryFolders = new Set<string>();

/** Creates a folder that no other user can write to, and that the process deletes at its end. */
function temporaryFolder(): string {
  if (temporaryFolders.size === 0) process.once("exit", deleteTemporaryFolders);
  const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
  temporaryFolders.add(folder);
  return folder;
}

/** For a process that will be killed. */
export function deleteTemporaryFolders(): void {
  for (const folder of temporaryFolders) rmSync(folder, { recursive: true, force: true });
}

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
  /** @default none: shares the concurrency of the account */
  readonly reservedConcurrency?: number | undefined;
  readonly logRetentionDays: number;
  /** The ARN of a managed policy that limits the permissions of the role. @default none */
  readonly permissionsBoundary?: string | undefined;
}

/** A function with its own log group, role, policy, and an alias on its published version. */
export class OrdersFunction extends pulumi.ComponentResource {
  readonly function: aws.lambda.Function;
  readonly alias: aws.lambda.Alias;
  readonly logs: aws.cloudwatch.LogGroup;

  constructor(name: string, args: OrdersFunctionArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("OrdersFunction"), name, {}, options);
    const { statements, logRetentionDays, permissionsBoundary, description, code, handler } = args;
    const parent = { parent: this };

    this.logs = new aws.cloudwatch.LogGroup(`${name}-logs`, { retentionInDays: logRetentionDays }, parent);
    const bounded = permissionsBoundary === undefined ? {} : { permissionsBoundary };
    const roleArgs = { assumeRolePolicy: LAMBDA_TRUST_POLICY, ...bounded };
    const role = new aws.iam.Role(`${name}-role`, roleArgs, parent);
    // Lambda chooses the names of log streams, so this is the only wildcard in the policy.
    const streams = pulumi.interpolate`${this.logs.arn}:*`;
    const writesLog = allow(["logs:CreateLogStream", "logs:PutLogEvents"], streams);
    const document = { Version: "2012-10-17" as const, Statement: [...statements, writesLog] };
    const policy = new aws.iam.RolePolicy(`${name}-policy`, { role: role.id, policy: document }, parent);
    const reserved = args.reservedConcurrency;
    const functionArgs = {
      ...{ description, code, handler, role: role.arn },
      runtime: "nodejs24.x",
      architectures: ["arm64"],
      memorySize: args.memoryMiB,
      timeout: args.timeoutSeconds,
      publish: true,
      environment: { variables: args.environment },
      ...(reserved === undefined ? {} : { reservedConcurrentExecutions: reserved }),
      // Without the lines about each invocation: 500 bytes a request. Failures and time-outs are logged.
      loggingConfig: { logFormat: "JSON", systemLogLevel: "WARN", logGroup: this.logs.name },
    };
    const afterPolicy = { ...parent, dependsOn: policy };
    this.function = new aws.lambda.Function(`${name}-function`, functionArgs, afterPolicy);
    const { name: functionName, version: functionVersion } = this.function;
    // API Gateway invokes the alias, so each update serves its version at once.
    const live = { name: "live", functionName, functionVersion };
    this.alias = new aws.lambda.Alias(`${name}-alias`, live, parent);
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
      .apply(([uri, unqualified, qualified]) => uri?.replace(unqualified, qualified));
  }
}

const LAMBDA_TRUST_POLICY = {
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: "lambda.amazonaws.com" } }],
} as const satisfies aws.iam.PolicyDocument;
