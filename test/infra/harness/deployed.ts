import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { clientFor, EMULATED, startEmulator } from "../../support/dynamodb/emulator.ts";
import { type GatewayResponse, readBuffered, readStreamed } from "../functions/gateway.ts";
import { type RunningFunction, runFunction } from "../functions/runtime-api.ts";
import { type AuthorisedWire, allowedOnTables, authorise } from "./authorised-wire.ts";
import type { Registration, Seen } from "./engine.ts";
import { find, ofType } from "./program.ts";
import type { Value } from "./wire.ts";

/** What a run registered, at work: tables in the emulator, functions under the runtime client, the gateway's routes. */
export interface Deployed {
  /** Where the tables are, for whoever may do everything. */
  readonly endpoint: string;
  /** By the logical name of the function: the calls that its policy let through, and all that it allows. */
  readonly rights: ReadonlyMap<string, AuthorisedWire & { readonly allowed: readonly string[] }>;
  /** Sends a request to a host that the run knows. */
  fetch(method: string, url: string, headers?: Readonly<Record<string, string>>): Promise<GatewayResponse>;
  stop(): Promise<void>;
}

/** Brings a run to life. Nothing in it comes from anywhere but the registrations. */
export async function deploy(seen: Seen): Promise<Deployed> {
  const emulator = await startEmulator("all-old");
  const client = clientFor(emulator.endpoint);
  for (const { inputs } of ofType(seen, "aws:dynamodb/table:Table")) await client.send(createTable(inputs));
  client.destroy();

  const running = new Map<string, RunningFunction>();
  const rights = new Map<string, AuthorisedWire & { readonly allowed: readonly string[] }>();
  const folders: string[] = [];
  for (const { name, inputs } of ofType(seen, "aws:lambda/function:Function")) {
    const folder = await unpack(inputs["code"]);
    folders.push(folder);
    const allowed = allowedOnTables(find(seen, name.replace("-function", "-rights")).inputs["policy"]);
    const wire = await authorise(emulator.endpoint, allowed);
    rights.set(name, { ...wire, allowed });
    const { variables } = inputs["environment"] as { variables: Record<string, string> };
    running.set(
      name,
      await runFunction(folder, String(inputs["handler"]), {
        ...AWS,
        ...variables,
        AWS_ENDPOINT_URL: wire.endpoint,
      }),
    );
  }

  return {
    endpoint: emulator.endpoint,
    rights,
    async fetch(method, url, headers = {}) {
      const { host, pathname, searchParams } = new URL(url);
      const path = pathOfApi(seen, host, pathname);
      const integration = integrationFor(seen, method, path);
      const name = functionBehind(seen, String(integration.inputs["uri"]));
      const event = eventOf({ method, host, path, headers, searchParams });
      const posted = await running.get(name)?.invoke(event);
      if (posted === undefined) throw new Error(`No function is called ${name}.`);
      return integration.inputs["responseTransferMode"] === "STREAM"
        ? readStreamed(posted)
        : readBuffered(posted);
    },
    async stop() {
      await Promise.all([...running.values()].map((each) => each.stop()));
      await Promise.all([...rights.values()].map((wire) => wire.close()));
      await emulator.stop();
      await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
    },
  };
}

const AWS = {
  AWS_REGION: EMULATED.region,
  AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
};

/** The provider's inputs in the words of the service. */
function createTable({
  name,
  hashKey,
  rangeKey,
  attributes,
  billingMode,
}: Registration["inputs"]): CreateTableCommand {
  const key = (AttributeName: Value | undefined, KeyType: "HASH" | "RANGE") =>
    AttributeName === undefined ? [] : [{ AttributeName: String(AttributeName), KeyType }];
  return new CreateTableCommand({
    TableName: String(name),
    BillingMode: billingMode as "PAY_PER_REQUEST",
    KeySchema: [...key(hashKey, "HASH"), ...key(rangeKey, "RANGE")],
    AttributeDefinitions: (attributes as unknown as readonly { name: string; type: "N" | "S" }[]).map(
      (each) => ({
        AttributeName: each.name,
        AttributeType: each.type,
      }),
    ),
  });
}

/** Writes the files of an archive where Lambda would have them. */
async function unpack(code: Value | undefined): Promise<string> {
  const { assets } = (code as { archive: { assets: Record<string, { asset: { path: string } }> } }).archive;
  const folder = await mkdtemp(join(tmpdir(), "store-orders-"));
  await Promise.all(
    Object.entries(assets).map(([name, { asset }]) => copyFile(asset.path, join(folder, name))),
  );
  return folder;
}

const PLATFORM = "api123.execute-api.eu-central-1.amazonaws.com";

/** The path that the API sees: the platform's host has the stage before it, a mapped host nothing. */
function pathOfApi(seen: Seen, host: string, pathname: string): string {
  const [stage] = ofType(seen, "aws:apigateway/stage:Stage");
  const prefix = `/${String(stage?.inputs["stageName"])}`;
  if (host === PLATFORM && pathname.startsWith(`${prefix}/`)) return pathname.slice(prefix.length);
  const mapping = ofType(seen, "aws:apigateway/basePathMapping:BasePathMapping").find(
    ({ inputs }) => inputs["domainName"] === host && inputs["basePath"] === undefined,
  );
  if (mapping === undefined) throw new Error(`The gateway does not know ${host}${pathname}.`);
  return pathname;
}

/** Goes down the resources as the gateway does: a literal segment hides the wildcard beside it. */
function integrationFor(seen: Seen, method: string, path: string): Registration {
  const resources = ofType(seen, "aws:apigateway/resource:Resource");
  let id: Value | undefined = "root-id";
  for (const segment of path.split("/").filter((each) => each !== "")) {
    const below = resources.filter(({ inputs }) => inputs["parentId"] === id);
    const literal = below.find(({ inputs }) => inputs["pathPart"] === segment);
    const rest = below.find(({ inputs }) => inputs["pathPart"] === "{proxy+}");
    id = literal === undefined ? `${rest?.name}-id` : `${literal.name}-id`;
    if (literal === undefined) break;
  }
  const here = ofType(seen, "aws:apigateway/integration:Integration").filter(
    ({ inputs }) => inputs["resourceId"] === id,
  );
  const found = [method, "ANY"].flatMap((each) =>
    here.filter(({ inputs }) => inputs["httpMethod"] === each),
  )[0];
  if (found === undefined) throw new Error(`The gateway has nothing for ${method} ${path}.`);
  return found;
}

/** From an integration's address by way of the alias and the permission to the function that it calls. */
function functionBehind(seen: Seen, uri: string): string {
  const [, physical = "", alias = ""] = /:function:([^:]+):([^/:]+)\//.exec(uri) ?? [];
  const permitted = ofType(seen, "aws:lambda/permission:Permission").some(
    ({ inputs }) => inputs["function"] === physical && inputs["qualifier"] === alias,
  );
  if (!permitted) throw new Error(`The gateway may not call ${physical}:${alias}.`);
  return physical.replace(/-1a2b3c4$/, "");
}

interface Sent {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly searchParams: URLSearchParams;
}

/** An event of a REST API with proxy integration. */
function eventOf({ method, host, path, headers, searchParams }: Sent) {
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
      identity: { sourceIp: "192.0.2.1" },
    },
  };
}
