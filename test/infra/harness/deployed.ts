import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { clientFor, EMULATED, startEmulator } from "../../support/dynamodb/emulator.ts";
import { type GatewayResponse, readBuffered, readStreamed } from "../functions/gateway.ts";
import { type Posted, type RunningFunction, runFunction } from "../functions/runtime-api.ts";
import { type AuthorizingProxy, allowedOnTables, startAuthorizingProxy } from "./authorizing-proxy.ts";
import type { Recording, Registration } from "./engine.ts";
import { find, ofType } from "./program.ts";
import type { Value } from "./wire.ts";

/** The resources of a run in operation: tables in the emulator, functions under the runtime client, the API's routes. */
export interface Deployed {
  /** The DynamoDB endpoint without authorization. */
  readonly endpoint: string;
  /** By the logical name of a function: the calls that it made, and those that its policy allows. */
  readonly calls: ReadonlyMap<string, AuthorizingProxy & { readonly allowed: readonly string[] }>;
  /** Sends a request to a host of the API. */
  fetch(method: string, url: string, headers?: Readonly<Record<string, string>>): Promise<GatewayResponse>;
  /** Invokes a function by its logical name. */
  invoke(name: string, event: object): Promise<Posted>;
  /** Everything that a function wrote. */
  log(name: string): string;
  stop(): Promise<void>;
}

/** Starts what a run registered, with further variables in the environment. All else is derived from the registrations. */
export async function deploy(
  recording: Recording,
  environment: Readonly<Record<string, string>> = {},
): Promise<Deployed> {
  const emulator = await startEmulator("all-old");
  const client = clientFor(emulator.endpoint);
  for (const { inputs } of ofType(recording, "aws:dynamodb/table:Table"))
    await client.send(createTable(inputs));
  client.destroy();

  const running = new Map<string, RunningFunction>();
  const calls = new Map<string, AuthorizingProxy & { readonly allowed: readonly string[] }>();
  const folders: string[] = [];
  for (const { name, inputs } of ofType(recording, "aws:lambda/function:Function")) {
    const folder = await unpack(inputs["code"]);
    folders.push(folder);
    const allowed = allowedOnTables(find(recording, name.replace("-function", "-policy")).inputs["policy"]);
    const proxy = await startAuthorizingProxy(emulator.endpoint, allowed);
    calls.set(name, { ...proxy, allowed });
    const { variables } = inputs["environment"] as { variables: Record<string, string> };
    running.set(
      name,
      await runFunction(folder, String(inputs["handler"]), {
        ...AWS,
        ...variables,
        ...environment,
        AWS_ENDPOINT_URL: proxy.endpoint,
      }),
    );
  }

  return {
    endpoint: emulator.endpoint,
    calls,
    async fetch(method, url, headers = {}) {
      const { host, pathname, searchParams } = new URL(url);
      const path = pathOfApi(recording, host, pathname);
      const integration = integrationFor(recording, method, path);
      const name = functionBehind(recording, String(integration.inputs["uri"]));
      const event = eventOf({ method, host, path, headers, searchParams });
      const posted = await running.get(name)?.invoke(event);
      if (posted === undefined) throw new Error(`No function is named ${name}.`);
      return integration.inputs["responseTransferMode"] === "STREAM"
        ? readStreamed(posted)
        : readBuffered(posted);
    },
    invoke: (name, event) =>
      running.get(name)?.invoke(event) ?? Promise.reject(new Error(`No function is named ${name}.`)),
    log: (name) => running.get(name)?.log() ?? "",
    async stop() {
      await Promise.all([...running.values()].map((each) => each.stop()));
      await Promise.all([...calls.values()].map((proxy) => proxy.close()));
      await emulator.stop();
      await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
    },
  };
}

/** The environment in which AWS clients reach the emulator. */
export const AWS: Readonly<Record<string, string>> = {
  AWS_REGION: EMULATED.region,
  AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
};

/** Converts the provider's inputs into a call of DynamoDB. */
function createTable({
  name,
  hashKey,
  rangeKey,
  globalSecondaryIndexes,
  attributes,
  billingMode,
}: Registration["inputs"]): CreateTableCommand {
  const key = (AttributeName: Value | undefined, KeyType: "HASH" | "RANGE") =>
    AttributeName === undefined ? [] : [{ AttributeName: String(AttributeName), KeyType }];
  return new CreateTableCommand({
    TableName: String(name),
    BillingMode: billingMode as "PAY_PER_REQUEST",
    KeySchema: [...key(hashKey, "HASH"), ...key(rangeKey, "RANGE")],
    ...(globalSecondaryIndexes && {
      GlobalSecondaryIndexes: (
        globalSecondaryIndexes as unknown as readonly Readonly<Record<string, Value>>[]
      ).map((index) => ({
        IndexName: String(index["name"]),
        KeySchema: [...key(index["hashKey"], "HASH"), ...key(index["rangeKey"], "RANGE")],
        Projection: {
          ProjectionType: "INCLUDE" as const,
          NonKeyAttributes: index["nonKeyAttributes"] as string[],
        },
      })),
    }),
    AttributeDefinitions: (attributes as unknown as readonly { name: string; type: "N" | "S" }[]).map(
      (each) => ({
        AttributeName: each.name,
        AttributeType: each.type,
      }),
    ),
  });
}

/** Writes the files of an archive into a new folder, as Lambda does. */
async function unpack(code: Value | undefined): Promise<string> {
  const { assets } = (code as { archive: { assets: Record<string, { asset: string }> } }).archive;
  const folder = await mkdtemp(join(tmpdir(), "store-orders-"));
  await Promise.all(Object.entries(assets).map(([name, { asset }]) => writeFile(join(folder, name), asset)));
  return folder;
}

const PLATFORM = "api123.execute-api.eu-central-1.amazonaws.com";

/** The path within the API: on the API Gateway hostname it follows the stage, on a mapped host nothing. */
function pathOfApi(recording: Recording, host: string, pathname: string): string {
  const [stage] = ofType(recording, "aws:apigateway/stage:Stage");
  const prefix = `/${String(stage?.inputs["stageName"])}`;
  if (host === PLATFORM && pathname.startsWith(`${prefix}/`)) return pathname.slice(prefix.length);
  const mapping = ofType(recording, "aws:apigateway/basePathMapping:BasePathMapping").find(
    ({ inputs }) => inputs["domainName"] === host && inputs["basePath"] === undefined,
  );
  if (mapping === undefined) throw new Error(`No mapping matches ${host}${pathname}.`);
  return pathname;
}

/** Matches a path as API Gateway does: a literal segment takes precedence over the wildcard beside it. */
function integrationFor(recording: Recording, method: string, path: string): Registration {
  const resources = ofType(recording, "aws:apigateway/resource:Resource");
  let id: Value | undefined = "root-id";
  for (const segment of path.split("/").filter((each) => each !== "")) {
    const below = resources.filter(({ inputs }) => inputs["parentId"] === id);
    const literal = below.find(({ inputs }) => inputs["pathPart"] === segment);
    const rest = below.find(({ inputs }) => inputs["pathPart"] === "{proxy+}");
    id = literal === undefined ? `${rest?.name}-id` : `${literal.name}-id`;
    if (literal === undefined) break;
  }
  const integrations = ofType(recording, "aws:apigateway/integration:Integration").filter(
    ({ inputs }) => inputs["resourceId"] === id,
  );
  const found = [method, "ANY"].flatMap((each) =>
    integrations.filter(({ inputs }) => inputs["httpMethod"] === each),
  )[0];
  if (found === undefined) throw new Error(`No integration matches ${method} ${path}.`);
  return found;
}

/** Returns the function that an integration invokes, if a permission allows it. */
function functionBehind(recording: Recording, uri: string): string {
  const [, physical = "", alias = ""] = /:function:([^:]+):([^/:]+)\//.exec(uri) ?? [];
  const permitted = ofType(recording, "aws:lambda/permission:Permission").some(
    ({ inputs }) => inputs["function"] === physical && inputs["qualifier"] === alias,
  );
  if (!permitted) throw new Error(`No permission allows API Gateway to invoke ${physical}:${alias}.`);
  return physical.replace(/-1a2b3c4$/, "");
}

interface GatewayRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly searchParams: URLSearchParams;
}

/** The event that a REST API with proxy integration sends. */
function eventOf({ method, host, path, headers, searchParams }: GatewayRequest) {
  const query = [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]);
  const fields = Object.entries({ ...headers, host }).map(([name, value]) => [name, [value]]);
  return {
    httpMethod: method,
    path,
    multiValueHeaders: Object.fromEntries(fields),
    multiValueQueryStringParameters: query.length === 0 ? null : Object.fromEntries(query),
    body: null,
    isBase64Encoded: false,
    requestContext: {
      apiId: "api123",
      domainName: host,
      stage: "live",
      requestId: "request-1",
      path: host === PLATFORM ? `/live${path}` : path,
      identity: { sourceIp: "192.0.2.1" },
    },
  };
}
