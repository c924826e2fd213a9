import { createHash } from "node:crypto";
import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import type { OrdersFunction } from "../functions/function.ts";
import type { FunctionRole } from "../functions/permissions.ts";
import { typeToken } from "../names.ts";
import { ACCESS_LOG_FORMAT, type AccessLog } from "./access-log.ts";
import { gatewayResponses } from "./gateway-responses.ts";
import { type RouteNode, routeTree } from "./route-tree.ts";

/** What the API is made of. */
export interface ApiArgs {
  readonly functions: Readonly<Record<FunctionRole, OrdersFunction>>;
  /** The longest that the streamed answer may take. */
  readonly streamSeconds: number;
  /** What the stage lets through in all; the limits of accounts are the service's own. */
  readonly throttle: { readonly perSecond: number; readonly burst: number };
  /** @default none */
  readonly accessLog?: AccessLog;
}

/** The one stage. */
export const STAGE = "live";

/** Regional, as only there a stream may pause for minutes. Left alone, the platform's own host would take TLS 1.0. */
const REST_API = {
  description: "A store's orders API",
  endpointConfiguration: { types: "REGIONAL" },
  securityPolicy: "TLS_1_2",
} as const;

/** The longest that the gateway waits for an answer that comes at once. */
const BUFFERED_MS = 29_000;

/** The REST API (HTTP APIs do not stream): the list streamed, everything else buffered. */
export class Api extends pulumi.ComponentResource {
  readonly restApi: aws.apigateway.RestApi;
  readonly stage: aws.apigateway.Stage;

  readonly #name: string;
  readonly #args: ApiArgs;

  constructor(name: string, args: ApiArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("Api"), name, {}, options);
    this.#name = name;
    this.#args = args;
    const { streamSeconds } = args;
    const shape = { api: REST_API, routes: routeTree(), responses: gatewayResponses(), streamSeconds };

    this.restApi = this.#restApi();
    const integrations = this.#routes(shape.routes);
    const responses = this.#responses(shape.responses);
    const deployment = this.#deployment(shape, [...integrations, ...responses]);
    this.stage = this.#stage(deployment);
    this.#throttle();
    this.#permissions();
    this.registerOutputs({ url: this.stage.invokeUrl });
  }

  #restApi() {
    return new aws.apigateway.RestApi(`${this.#name}-rest`, REST_API, { parent: this });
  }

  /** Every resource, its methods and the function behind each. Gives what a deployment has to wait for. */
  #routes(routes: readonly RouteNode[]): readonly aws.apigateway.Integration[] {
    const ids = new Map<string, pulumi.Input<string>>([["root", this.restApi.rootResourceId]]);
    return routes.flatMap((node) => {
      const resourceId = this.#resource(node, ids);
      return node.methods.map(({ method, to }) => this.#method(node.key, method, to, resourceId));
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

  #method(key: string, httpMethod: string, to: FunctionRole, resourceId: pulumi.Input<string>) {
    const name = `${this.#name}-${key}-${httpMethod.toLowerCase()}`;
    const at = { restApi: this.restApi.id, resourceId, httpMethod };
    const method = new aws.apigateway.Method(
      `${name}-method`,
      { ...at, authorization: "NONE" },
      this.#child(),
    );
    return new aws.apigateway.Integration(
      `${name}-integration`,
      { ...at, type: "AWS_PROXY", integrationHttpMethod: "POST", ...this.#target(to) },
      { ...this.#child(), dependsOn: method },
    );
  }

  #target(to: FunctionRole) {
    const { functions, streamSeconds } = this.#args;
    return to === "list"
      ? {
          uri: functions.list.streamUri,
          responseTransferMode: "STREAM",
          // Without it a stream is cut off after 29 seconds as well.
          timeoutMilliseconds: streamSeconds * 1_000,
        }
      : { uri: functions.api.invokeUri, responseTransferMode: "BUFFERED", timeoutMilliseconds: BUFFERED_MS };
  }

  #responses(responses: ReturnType<typeof gatewayResponses>) {
    return responses.map(({ type, status, body, headers }) => {
      const fields = Object.entries(headers).map(([name, value]) => [
        `gatewayresponse.header.${name}`,
        `'${value}'`,
      ]);
      const args = {
        restApiId: this.restApi.id,
        responseType: type,
        statusCode: `${status}`,
        responseTemplates: { "application/json": body },
        ...(fields.length === 0 ? {} : { responseParameters: Object.fromEntries(fields) }),
      };
      const key = type.toLowerCase().replaceAll("_", "-");
      return new aws.apigateway.Response(`${this.#name}-answer-${key}`, args, this.#child());
    });
  }

  /** A stage keeps serving an earlier deployment until there is a new one, so whatever shapes the API triggers one. */
  #deployment(shape: object, dependsOn: readonly pulumi.Resource[]) {
    const { list, api } = this.#args.functions;
    const triggers = { shape: hashOf(shape), list: list.streamUri, api: api.invokeUri };
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
    return new aws.apigateway.Stage(
      `${this.#name}-stage`,
      { restApi: this.restApi.id, deployment: deployment.id, stageName: STAGE, ...logs },
      { parent: this, dependsOn: [...(accessLog?.ready ?? [])] },
    );
  }

  #throttle() {
    const { perSecond, burst } = this.#args.throttle;
    const settings = { throttlingRateLimit: perSecond, throttlingBurstLimit: burst };
    const args = { restApi: this.restApi.id, stageName: this.stage.stageName, methodPath: "*/*", settings };
    return new aws.apigateway.MethodSettings(`${this.#name}-throttle`, args, { parent: this });
  }

  /** The gateway may call each function's alias, for this API and stage alone. */
  #permissions() {
    return Object.entries(this.#args.functions).map(
      ([
        role,
        {
          function: { name },
          alias,
        },
      ]) => {
        const sourceArn = pulumi.interpolate`${this.restApi.executionArn}/${STAGE}/*/*`;
        const args = {
          action: "lambda:InvokeFunction",
          principal: "apigateway.amazonaws.com",
          function: name,
          qualifier: alias.name,
          sourceArn,
        };
        return new aws.lambda.Permission(`${this.#name}-may-call-${role}`, args, { parent: this });
      },
    );
  }

  /** What hangs below the API goes with it, which spares its deletion a call each. */
  #child() {
    return { parent: this, deletedWith: this.restApi };
  }
}

/** The same for the same plan, whatever else changes. */
function hashOf(plan: object): string {
  return createHash("sha256").update(JSON.stringify(plan)).digest("hex").slice(0, 16);
}
