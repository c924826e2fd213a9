/** The two Lambda functions: `list` streams the list of orders, `api` handles every other request. */
import { settleWithin } from "../../lib/core/concurrency.ts";
import { deserializeDomains } from "../../lib/domains/mapping.ts";
import { hostTable } from "../../lib/domains/routing.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { createBufferedFunction, createStreamingFunction, PLATFORM_HOST } from "../../lib/lambda/index.ts";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { createTelemetry } from "./telemetry.ts";

const {
  STORE_ORDERS_DYNAMODB: prefix,
  STORE_ORDERS_NAMESPACE: namespace,
  STORE_ORDERS_DOMAINS: domains,
  STORE_ORDERS_OPTIONS: options = "{}",
  STORE_ORDERS_PREVIEW: preview,
} = process.env;
if (prefix === undefined)
  throw new Error("STORE_ORDERS_DYNAMODB is not set. Set it to the prefix of the tables.");

// All values were validated when the stack was deployed. Validating again would double the size of the bundle.
const hosts = hostTable(domains === undefined ? undefined : deserializeDomains(domains), [PLATFORM_HOST]);
const store = createDynamodbStore({ prefix, sharedConnections: true });
const write = (line: string) => process.stdout.write(line);
const telemetry = createTelemetry({ namespace: namespace ?? prefix, write });
const operations =
  preview === undefined
    ? OPERATIONS
    : [...OPERATIONS, ...(await import("../../lib/http/v2-preview.ts")).V2_PREVIEW_OPERATIONS];
const handler = createHandler({
  operations,
  store: telemetry.instrument(store),
  hosts: () => hosts,
  onRequest: telemetry.onRequest,
  ...JSON.parse(options),
});

export const api = createBufferedFunction({ handler });
export const list = createStreamingFunction({ handler, onFirstByte: telemetry.onFirstByte });

/** DynamoDB answers within milliseconds. If it does not, the first request tries again. */
const WARM_UP_MS = 500;

// A function has a whole processor while it loads, and a share of one for its requests. So connections are opened now.
await settleWithin(WARM_UP_MS, store.warmUp()).catch(() => {});
