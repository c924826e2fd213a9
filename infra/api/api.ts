import { createHash } from "node:crypto";
import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import type { OrdersFunction } from "../functions/function.ts";
import type { FunctionRole } from "../functions/permissions.ts";
import { typeToken } from "../names.ts";
import { ACCESS_LOG_FORMAT, type AccessLog } from "./access-log.ts";
import { gatewayResponses } from "./gateway-responses.ts";
import { routeTree } from "./route-tree.ts";
import { WebAcl, type WebAclArgs } from "./web-acl.ts";

/** Arguments of {@link Api}. */
export interface ApiArgs {
  readonly functions: Readonly<Record<FunctionRole, OrdersFunction>>;
  readonly streamSeconds: number;
  /** Of the whole stage. The service itself enforces the limits of each account. */
  readonly throttle: { readonly perSecond: number; readonly burst: number };
  /** The path below which the functions serve everything, such as `/shop`. @default the root */
  readonly basePath?: string | undefined;
  /** @default none */
  readonly accessLog?: AccessLog | undefined;
  /** Blocks an address above this many requests with a WAF web ACL. @default none */
  readonly waf?: Omit<WebAclArgs, "stage"> | undefined;
  /** Serves only custom hosts, not the API Gateway hostname. @default false */
  readonly closePlatformHost?: boolean;
}

export const STAGE = "live";

/** Regional: edge-optimized endpoints close a stream that is idle for 30 seconds. The default policy accepts TLS 1.0. */
const REST_API = {
  description: "A shop's orders API",
  endpointConfiguration: { types: "REGIONAL" },
  securityPolicy: "TLS_1_2",
} as const;

/** The timeout of a buffered response, the maximum of API Gateway. */
export const BUFFERED_MS = 29_000;

/** The REST API (HTTP APIs cannot stream). It streams the list of orders and buffers every other response. */
export class Api extends pulumi.ComponentResource {
  readonly restApi: aws.apigateway.RestApi;
  readonly stage: aws.apigateway.Stage;

  constructor(name: string, args: ApiArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("Api"), name, {}, options);
    const { functions, streamSeconds, throttle, accessLog, waf, basePath, closePlatformHost = false } = args;
    const responses = gatewayResponses({ hasRateLimit: waf !== undefined });
    const api = { ...REST_API, disableExecuteApiEndpoint: closePlatformHost };
    const shape = { api, routes: routeTree(basePath), responses, streamSeconds };
    const own = { parent: this };

    this.restApi = new aws.apigateway.RestApi(`${name}-rest`, api, own);
    const restApi = this.restApi.id;
    // Resources below the API are deleted with it, which saves one call for each.
    const below = { ...own, deletedWith: this.restApi };

    const targets = {
      // The default timeout is 29 seconds, for streams too.
      list: { uri: functions.list.streamUri, mode: "STREAM", timeoutMs: streamSeconds * 1_000 },
      api: { uri: functions.api.invokeUri, mode: "BUFFERED", timeoutMs: BUFFERED_MS },
    };
    const ids = new Map<string, pulumi.Input<string>>();
    const integrations = shape.routes.flatMap(({ key, parent = "", segment: pathPart, methods }) => {
      const parentId = ids.get(parent);
      const resourceId =
        parentId === undefined
          ? this.restApi.rootResourceId
          : new aws.apigateway.Resource(`${name}-${key}`, { restApi, parentId, pathPart }, below).id;
      ids.set(key, resourceId);
      return methods.map(({ method: httpMethod, target }) => {
        const methodName = `${name}-${key}-${httpMethod.toLowerCase()}`;
        const address = { restApi, resourceId, httpMethod };
        const methodArgs = { ...address, authorization: "NONE" };
        const method = new aws.apigateway.Method(`${methodName}-method`, methodArgs, below);
        const { uri, mode: responseTransferMode, timeoutMs: timeoutMilliseconds } = targets[target];
        const invocation = { type: "AWS_PROXY", integrationHttpMethod: "POST", uri };
        const integration = { ...address, ...invocation, responseTransferMode, timeoutMilliseconds };
        const afterMethod = { ...below, dependsOn: method };
        return new aws.apigateway.Integration(`${methodName}-integration`, integration, afterMethod);
      });
    });
    const ownResponses = responses.map((response) => {
      const key = response.responseType.toLowerCase().replaceAll("_", "-");
      const responseArgs = { restApiId: restApi, ...response };
      return new aws.apigateway.Response(`${name}-response-${key}`, responseArgs, below);
    });

    // A stage serves a snapshot of the API, so every change of its shape has to trigger a new deployment.
    const hash = createHash("sha256").update(JSON.stringify(shape)).digest("hex").slice(0, 16);
    const triggers = { shape: hash, list: functions.list.streamUri, api: functions.api.invokeUri };
    const afterAll = { ...own, dependsOn: [...integrations, ...ownResponses] };
    const deployment = new aws.apigateway.Deployment(`${name}-deployment`, { restApi, triggers }, afterAll);
    const accessLogSettings = accessLog && { destinationArn: accessLog.group.arn, format: ACCESS_LOG_FORMAT };
    const stageArgs = { restApi, deployment: deployment.id, stageName: STAGE, accessLogSettings };
    this.stage = new aws.apigateway.Stage(`${name}-stage`, stageArgs, own);
    const settings = { throttlingRateLimit: throttle.perSecond, throttlingBurstLimit: throttle.burst };
    const throttleArgs = { restApi, stageName: this.stage.stageName, methodPath: "*/*", settings };
    new aws.apigateway.MethodSettings(`${name}-throttle`, throttleArgs, own);
    if (waf !== undefined) new WebAcl(`${name}-waf`, { stage: this.stage, ...waf }, own);

    // This API's stage, and nothing else, may invoke the alias of each function.
    for (const [role, { function: target, alias }] of Object.entries(functions)) {
      const permission = {
        action: "lambda:InvokeFunction",
        principal: "apigateway.amazonaws.com",
        function: target.name,
        qualifier: alias.name,
        sourceArn: pulumi.interpolate`${this.restApi.executionArn}/${STAGE}/*/*`,
      };
      new aws.lambda.Permission(`${name}-invoke-${role}`, permission, own);
    }
    this.registerOutputs({ url: this.stage.invokeUrl });
  }
}
