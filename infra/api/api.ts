import { createHash } from "node:crypto";
import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import type { OrdersFunction } from "../functions/function.ts";
import type { FunctionRole } from "../functions/permissions.ts";
import { typeToken } from "../names.ts";
import { ACCESS_LOG_FORMAT, type AccessLog } from "./access-log.ts";
import { gatewayResponseArgs, gatewayResponses } from "./gateway-responses.ts";
import { type RouteNode, routeTree } from "./route-tree.ts";
import { WebAcl } from "./web-acl.ts";

/** Arguments of {@link Api}. */
export interface ApiArgs {
  readonly functions: Readonly<Record<FunctionRole, OrdersFunction>>;
  /** The timeout of a streamed response. */
  readonly streamSeconds: number;
  /** The throttle of the whole stage. The service itself enforces the limits of each account. */
  readonly throttle: { readonly perSecond: number; readonly burst: number };
  /** @default none */
  readonly accessLog?: AccessLog | undefined;
  /** Blocks an address above this many requests with a WAF web ACL. @default none */
  readonly waf?: { readonly requestsPerFiveMinutes: number } | undefined;
  /** Serves only custom hosts, not the API Gateway hostname. @default false */
  readonly closePlatformHost?: boolean;
}

/** The name of the only stage. */
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

  readonly #name: string;
  readonly #args: ApiArgs;

  constructor(name: string, args: ApiArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("Api"), name, {}, options);
    this.#name = name;
    this.#args = args;
    const { streamSeconds, waf } = args;
    const responses = gatewayResponses({ hasRateLimit: waf !== undefined });
    const api = { ...REST_API, disableExecuteApiEndpoint: args.closePlatformHost === true };
    const shape = { api, routes: routeTree(), responses, streamSeconds };

    this.restApi = new aws.apigateway.RestApi(`${name}-rest`, api, { parent: this });
    const integrations = this.#routes(shape.routes);
    const deployment = this.#deployment(shape, [...integrations, ...this.#responses(responses)]);
    this.stage = this.#stage(deployment);
    this.#throttle();
    if (waf !== undefined) new WebAcl(`${name}-waf`, { stage: this.stage, ...waf }, { parent: this });
    this.#permissions();
    this.registerOutputs({ url: this.stage.invokeUrl });
  }

  /** Creates every resource with its methods. Returns the integrations, on which a deployment has to depend. */
  #routes(routes: readonly RouteNode[]): readonly aws.apigateway.Integration[] {
    const ids = new Map<string, pulumi.Input<string>>([["root", this.restApi.rootResourceId]]);
    return routes.flatMap((node) => {
      const resourceId = this.#resource(node, ids);
      return node.methods.map(({ method, target }) => this.#method(node.key, method, target, resourceId));
    });
  }

  #resource(
    { key, parent, segment }: RouteNode,
    ids: Map<string, pulumi.Input<string>>,
  ): pulumi.Input<string> {
    const parentId = ids.get(parent ?? "");
    if (parentId === undefined) return this.restApi.rootResourceId;
    const args = { restApi: this.restApi.id, parentId, pathPart: segment };
    const { id } = new aws.apigateway.Resource(`${this.#name}-${key}`, args, this.#child());
    ids.set(key, id);
    return id;
  }

  #method(key: string, httpMethod: string, target: FunctionRole, resourceId: pulumi.Input<string>) {
    const name = `${this.#name}-${key}-${httpMethod.toLowerCase()}`;
    const address = { restApi: this.restApi.id, resourceId, httpMethod };
    const method = new aws.apigateway.Method(
      `${name}-method`,
      { ...address, authorization: "NONE" },
      this.#child(),
    );
    return new aws.apigateway.Integration(
      `${name}-integration`,
      { ...address, type: "AWS_PROXY", integrationHttpMethod: "POST", ...this.#integrationTarget(target) },
      { ...this.#child(), dependsOn: method },
    );
  }

  #integrationTarget(target: FunctionRole) {
    const { functions, streamSeconds } = this.#args;
    return target === "list"
      ? {
          uri: functions.list.streamUri,
          responseTransferMode: "STREAM",
          // The default is 29 seconds, for streams too.
          timeoutMilliseconds: streamSeconds * 1_000,
        }
      : { uri: functions.api.invokeUri, responseTransferMode: "BUFFERED", timeoutMilliseconds: BUFFERED_MS };
  }

  #responses(responses: ReturnType<typeof gatewayResponses>) {
    return responses.map((response) => {
      const args = { restApiId: this.restApi.id, ...gatewayResponseArgs(response) };
      const key = response.type.toLowerCase().replaceAll("_", "-");
      return new aws.apigateway.Response(`${this.#name}-response-${key}`, args, this.#child());
    });
  }

  /** A stage serves a snapshot of the API, so every change of its shape has to trigger a new deployment. */
  #deployment(shape: object, dependsOn: readonly pulumi.Resource[]) {
    const { list, api } = this.#args.functions;
    const hash = createHash("sha256").update(JSON.stringify(shape)).digest("hex").slice(0, 16);
    const triggers = { shape: hash, list: list.streamUri, api: api.invokeUri };
    return new aws.apigateway.Deployment(
      `${this.#name}-deployment`,
      { restApi: this.restApi.id, triggers },
      { parent: this, dependsOn: [...dependsOn] },
    );
  }

  #stage(deployment: aws.apigateway.Deployment) {
    const { accessLog } = this.#args;
    const logs =
      accessLog === undefined
        ? {}
        : { accessLogSettings: { destinationArn: accessLog.group.arn, format: ACCESS_LOG_FORMAT } };
    const args = { restApi: this.restApi.id, deployment: deployment.id, stageName: STAGE, ...logs };
    const options = { parent: this, dependsOn: [...(accessLog?.ready ?? [])] };
    return new aws.apigateway.Stage(`${this.#name}-stage`, args, options);
  }

  #throttle() {
    const { perSecond, burst } = this.#args.throttle;
    const settings = { throttlingRateLimit: perSecond, throttlingBurstLimit: burst };
    const args = { restApi: this.restApi.id, stageName: this.stage.stageName, methodPath: "*/*", settings };
    return new aws.apigateway.MethodSettings(`${this.#name}-throttle`, args, { parent: this });
  }

  /** Allows this API's stage, and nothing else, to invoke the alias of each function. */
  #permissions() {
    for (const [role, { function: target, alias }] of Object.entries(this.#args.functions)) {
      const args = {
        action: "lambda:InvokeFunction",
        principal: "apigateway.amazonaws.com",
        function: target.name,
        qualifier: alias.name,
        sourceArn: pulumi.interpolate`${this.restApi.executionArn}/${STAGE}/*/*`,
      };
      new aws.lambda.Permission(`${this.#name}-invoke-${role}`, args, { parent: this });
    }
  }

  /** Resources below the API are deleted with it, which saves one call for each. */
  #child() {
    return { parent: this, deletedWith: this.restApi };
  }
}
