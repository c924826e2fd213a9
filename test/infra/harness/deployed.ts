import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { clientFor, EMULATED, startEmulator } from "../../support/dynamodb/emulator.ts";
import { startProxy } from "../../support/dynamodb/proxy.ts";
import { type GatewayResponse, readBuffered, readStreamed } from "../functions/gateway.ts";
import { type RunningFunction, runFunction } from "../functions/runtime-api.ts";
import type { Recording, Registration } from "./engine.ts";
import { find, ofType } from "./program.ts";
import type { Value } from "./wire.ts";

/** The calls to DynamoDB of a function, as `dynamodb:GetItem on <table>`: only those that its policy allows are forwarded. */
interface Calls {
  readonly allowed: readonly string[];
  readonly used: ReadonlySet<string>;
  readonly denied: ReadonlySet<string>;
}

/** Starts what a run registered, tables in the emulator and functions under the runtime client, with further variables in the environment. All else is derived from the registrations. */
export async function deploy(recording: Recording, environment: Readonly<Record<string, string>> = {}) {
  const emulator = await startEmulator("all-old");
  const client = clientFor(emulator.endpoint);
  for (const { inputs } of ofType(recording, "aws:dynamodb/table:Table"))
    await client.send(createTable(inputs));
  client.destroy();

  const running = new Map<string, RunningFunction>();
  const calls = new Map<string, Calls & { close(): Promise<void> }>();
  /** The queries that DynamoDB still answers, and whether it is down altogether. */
  const faults = { queriesLeft: Number.POSITIVE_INFINITY, isDown: false };
  const folders: string[] = [];
  for (const { name, inputs } of ofType(recording, "aws:lambda/function:Function")) {
    const folder = await unpack(inputs["code"]);
    folders.push(folder);
    const allowed = allowedOnTables(find(recording, name.replace("-function", "-policy")).inputs["policy"]);
    const [used, denied] = [new Set<string>(), new Set<string>()];
    const proxy = await startProxy(emulator.endpoint, ({ operation, table, index }) => {
      const call = `dynamodb:${operation} on ${table}${index === undefined ? "" : `/index/${index}`}`;
      const isAllowed = allowed.includes(call);
      (isAllowed ? used : denied).add(call);
      if (!isAllowed) return "deny";
      if (operation === "Query") faults.queriesLeft--;
      return faults.isDown || faults.queriesLeft < 0 ? "cut" : "pass";
    });
    calls.set(name, { allowed, used, denied, close: proxy.close });
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
    /** The DynamoDB endpoint without authorization. */
    endpoint: emulator.endpoint,
    /** By the logical name of a function. */
    calls,
    faults,
    /** Sends a request to a host of the API. */
    async fetch(
      method: string,
      url: string,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<GatewayResponse> {
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
    invoke: (name: string, event: object) =>
      running.get(name)?.invoke(event) ?? Promise.reject(new Error(`No function is named ${name}.`)),
    /** Everything that a function wrote. */
    log: (name: string) => running.get(name)?.log() ?? "",
    async stop() {
      await Promise.all([...running.values()].map((each) => each.stop()));
      await Promise.all([...calls.values()].map((proxy) => proxy.close()));
      await emulator.stop();
      await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
    },
  };
}

export type Deployed = Awaited<ReturnType<typeof deploy>>;

function allowedOnTables(policy: Value | undefined): readonly string[] {
  const { Statement } = policy as unknown as { Statement: readonly { Action: string[]; Resource: string }[] };
  return Statement.flatMap(({ Action, Resource }) =>
    Action.map((action) => `${action} on ${Resource.split(":table/")[1] ?? ""}`),
  )
    .filter((text) => text.startsWith("dynamodb:"))
    .sort();
}

/** The environment in which AWS clients reach the emulator. */
export const AWS: Readonly<Record<string, string>> = {
  AWS_REGION: EMULATED.region,
  AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
};

/** Converts the provider's inputs into a call of DynamoDB. */
function createTable(inputs: Registration["inputs"]): CreateTableCommand {
  type Named = readonly Readonly<Record<string, string>>[];
  const keySchema = (of: Readonly<Record<string, Value>>) =>
    [of["hashKey"], of["rangeKey"]].flatMap((name, index) =>
      name === undefined
        ? []
        : [{ AttributeName: String(name), KeyType: index === 0 ? ("HASH" as const) : ("RANGE" as const) }],
    );
  const indexes = ((inputs["globalSecondaryIndexes"] ?? []) as unknown as Named).map((index) => ({
    IndexName: index["name"],
    KeySchema: keySchema(index),
    Projection: {
      ProjectionType: "INCLUDE" as const,
      NonKeyAttributes: index["nonKeyAttributes"] as unknown as string[],
    },
  }));
  return new CreateTableCommand({
    TableName: String(inputs["name"]),
    BillingMode: inputs["billingMode"] as "PAY_PER_REQUEST",
    KeySchema: keySchema(inputs),
    ...(indexes.length > 0 && { GlobalSecondaryIndexes: indexes }),
    AttributeDefinitions: (inputs["attributes"] as unknown as Named).map(({ name, type }) => ({
      AttributeName: name,
      AttributeType: type as "N" | "S",
    })),
  });
}

/** Writes the files of an archive into a new folder, as Lambda does. */
async function unpack(code: Value | undefined): Promise<string> {
  const { assets } = (code as { archive: { assets: Record<string, { asset: string }> } }).archive;
  const folder = await mkdtemp(join(tmpdir(), "store-orders-"));
  await Promise.all(Object.entries(assets).map(([name, { asset }]) => writeFile(join(folder, name), asset)));
  return folder;
}

export const PLATFORM = "api123.execute-api.eu-central-1.amazonaws.com";

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
  readonly searchParams?: URLSearchParams;
}

/** The event that a REST API with proxy integration sends. */
export function eventOf({
  method,
  host,
  path,
  headers,
  searchParams = new URLSearchParams(),
}: GatewayRequest) {
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
