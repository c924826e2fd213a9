import * as pulumi from "@pulumi/pulumi";
import { serializeDomains } from "../../lib/domains/mapping.ts";
import { defineDomains } from "../../lib/domains/parse.ts";
import { tableNames } from "../../lib/stores/dynamodb/schema.ts";
import { BUFFERED_MS } from "../api/api.ts";
import type { Settings } from "../config/settings.ts";
import type { Tables } from "../tables.ts";
import { OrdersFunction } from "./function.ts";
import { allow, type FunctionRole, PERMISSIONS } from "./permissions.ts";

interface FunctionsArgs {
  readonly settings: Settings;
  /** The servers in the OpenAPI document. The address that serves the document is always the first. */
  readonly servers: NonNullable<Settings["servers"]>;
  readonly code: pulumi.Input<pulumi.asset.Archive>;
  /** See `storeEnvironment`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly tables: Tables;
}

export function createFunctions(
  name: string,
  { settings, servers, code, environment: store, tables: { orders, accounts } }: FunctionsArgs,
  parent: pulumi.Resource,
): Readonly<Record<FunctionRole, OrdersFunction>> {
  const { memoryMiB, logRetentionDays, reservedConcurrency, permissionsBoundary } = settings;
  const environment = functionEnvironment({ ...settings, servers }, store);
  const shared = { code, environment, memoryMiB, reservedConcurrency, logRetentionDays, permissionsBoundary };
  const create = (role: FunctionRole, description: string, timeoutSeconds: number) => {
    const calls = PERMISSIONS[role];
    const statements = [allow(calls.orders, orders.arn), allow(calls.accounts, accounts.arn)];
    const args = { ...shared, description, timeoutSeconds, handler: `entry.${role}`, statements };
    return new OrdersFunction(`${name}-${role}`, args, { parent });
  };
  const { timeoutSeconds } = settings;
  const bufferedSeconds = Math.min(timeoutSeconds, BUFFERED_MS / 1_000);
  return {
    list: create("list", "Streams the list of orders", timeoutSeconds),
    api: create("api", "Handles every request except listing orders", bufferedSeconds),
  };
}

/** The variables from which every function knows its tables, and the namespace of the metrics that it writes. */
export function storeEnvironment(
  { tables }: Pick<Settings, "tables">,
  prefix: string,
  namespace: string,
): Readonly<Record<string, string>> {
  const names = tables && tableNames({ prefix, tables });
  const location = names ? `${names.orders},${names.accounts}` : prefix;
  return {
    STORE_ORDERS_DYNAMODB: location,
    ...(namespace === location ? {} : { STORE_ORDERS_NAMESPACE: namespace }),
  };
}

/** Lambda's limit for all environment variables of a function together, measured as JSON. */
export const MAX_ENVIRONMENT_BYTES = 4_096;

/** The environment variables of both functions. Hosts, servers and plans can exceed Lambda's limit: a `RunError`. */
export function functionEnvironment(
  settings: Pick<Settings, "domains" | "banPolicy" | "servers" | "docsUrl" | "corsOrigins" | "preview"> &
    Pick<Settings, "plans" | "keys" | "basePath">,
  store: ReturnType<typeof storeEnvironment>,
): Readonly<Record<string, string>> {
  const { domains, preview, banPolicy, servers, docsUrl, corsOrigins, plans, keys, basePath } = settings;
  const openapi = { servers, docsUrl };
  const handlerOptions = { banPolicy, openapi, corsOrigins, plans, keys, basePath };
  const environment = {
    ...store,
    // Without domains only the API Gateway hostname serves, so the last domain stops as soon as it is removed here.
    STORE_ORDERS_DOMAINS: serializeDomains(domains ?? defineDomains({})),
    STORE_ORDERS_OPTIONS: JSON.stringify(handlerOptions),
    ...(preview === undefined ? {} : { STORE_ORDERS_PREVIEW: preview }),
  };
  const excess = Buffer.byteLength(JSON.stringify(environment)) - MAX_ENVIRONMENT_BYTES;
  const message = `The environment of a Lambda function has at most ${MAX_ENVIRONMENT_BYTES} bytes, but the domains, servers and plans need ${excess} more. Use fewer redirects, aliases, servers or plans.`;
  if (excess > 0) throw new pulumi.RunError(message);
  return environment;
}
