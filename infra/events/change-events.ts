import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { OUTBOX_INDEX } from "../../lib/stores/dynamodb/schema.ts";
import { explainExisting } from "../failures.ts";
import { OrdersFunction } from "../functions/function.ts";
import { allow, EVENTS_PERMISSIONS, STREAM_CALLS } from "../functions/permissions.ts";
import { typeToken } from "../names.ts";
import type { Tables } from "../tables.ts";

interface ChangeEventsArgs {
  /** `default`, or the ARN of an event bus. */
  readonly bus: string;
  /** Contains `events.mjs`. */
  readonly code: pulumi.Input<pulumi.asset.Archive>;
  /** See `storeEnvironment`. */
  readonly environment: Readonly<Record<string, string>>;
  /** The one of the orders has a stream. */
  readonly tables: Tables;
  readonly logRetentionDays: number;
  readonly permissionsBoundary?: string | undefined;
}

/** The next invocation sends what is left then. */
const TIMEOUT_SECONDS = 60;

/**
 * Sends every change of an order to EventBridge. A change waits in its order until EventBridge has accepted it. The stream,
 * which holds a record for a day, wakes the function, and once a minute it looks for itself.
 */
export class ChangeEvents extends pulumi.ComponentResource {
  readonly handler: OrdersFunction;
  /** What the stream could not tell the function, for 14 days. The changes themselves stay in their orders. */
  readonly deadLetters: aws.sqs.Queue;

  constructor(name: string, args: ChangeEventsArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("ChangeEvents"), name, {}, options);
    const { bus, code, environment, tables, logRetentionDays, permissionsBoundary } = args;
    const { orders } = tables;
    const parent = { parent: this };
    const defaultBus = orders.arn.apply((arn) =>
      arn?.replace(":dynamodb:", ":events:").replace(/:table\/.*/, ":event-bus/default"),
    );
    const busArn = bus === "default" ? defaultBus : bus;

    const queueArgs = { messageRetentionSeconds: 14 * 86_400, sqsManagedSseEnabled: true };
    this.deadLetters = new aws.sqs.Queue(`${name}-dead-letters`, queueArgs, parent);
    const handlerArgs = {
      description: "Sends changes of orders to EventBridge",
      code,
      handler: "events.handler",
      environment: { ...environment, STORE_ORDERS_BUS: busArn },
      statements: [
        allow(EVENTS_PERMISSIONS.orders, orders.arn),
        allow(EVENTS_PERMISSIONS.index, pulumi.interpolate`${orders.arn}/index/${OUTBOX_INDEX}`),
        allow(STREAM_CALLS, orders.streamArn),
        // AWS cannot limit it to a stream.
        allow(["dynamodb:ListStreams"], "*"),
        allow(["events:PutEvents"], busArn),
        allow(["sqs:SendMessage"], this.deadLetters.arn),
      ],
      memoryMiB: 256,
      timeoutSeconds: TIMEOUT_SECONDS,
      logRetentionDays,
      permissionsBoundary,
    };
    this.handler = new OrdersFunction(name, handlerArgs, parent);
    const { alias } = this.handler;

    const subject = "The mapping of the stream to the function";
    const onError = explainExisting(`${name}-stream`, { subject, advice: DELETE_MAPPING }, this);
    // Only what has just changed, and not what follows in its delivery.
    const pattern = JSON.stringify({ dynamodb: { NewImage: { u: { N: ["0"] } } } });
    const mappingArgs = {
      eventSourceArn: orders.streamArn,
      functionName: alias.arn,
      startingPosition: "LATEST",
      batchSize: 1_000,
      maximumBatchingWindowInSeconds: 1,
      // The content of a record does not matter, so a failed one is not repeated until its age is a day.
      maximumRetryAttempts: 2,
      maximumRecordAgeInSeconds: 3_600,
      destinationConfig: { onFailure: { destinationArn: this.deadLetters.arn } },
      filterCriteria: { filters: [{ pattern }] },
    };
    // Lambda allows one mapping of a stream to a function. Until the new one works, the schedule finds the changes.
    const mappingOptions = { ...parent, deleteBeforeReplace: true, hooks: { onError } };
    new aws.lambda.EventSourceMapping(`${name}-stream`, mappingArgs, mappingOptions);
    const schedule = { description: "Looks for changes that wait", scheduleExpression: "rate(1 minute)" };
    const rule = new aws.cloudwatch.EventRule(`${name}-schedule`, schedule, parent);
    const invoke = { action: "lambda:InvokeFunction", function: alias.functionName, qualifier: alias.name };
    const byRule = { ...invoke, principal: "events.amazonaws.com", sourceArn: rule.arn };
    const permission = new aws.lambda.Permission(`${name}-permission`, byRule, parent);
    // With an identifier of its own, the target of a run that was killed would stay, and a rule with targets cannot be deleted.
    const target = { rule: rule.name, targetId: "function", arn: alias.arn };
    new aws.cloudwatch.EventTarget(`${name}-target`, target, { ...parent, dependsOn: permission });
    this.registerOutputs({ deadLetters: this.deadLetters.url });
  }
}

const DELETE_MAPPING =
  "Delete it: aws lambda delete-event-source-mapping --uuid <the UUID in the error>. No change is lost, because the schedule finds those that wait.";
