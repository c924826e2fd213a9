import { expect, test } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { createMetrics } from "../../lib/metrics/index.ts";
import { startNodeServer, toNodeHandler } from "../../lib/node/index.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createPostgresStore, migratePostgres } from "../../lib/stores/postgres/index.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { webhook } from "../../lib/webhooks/index.ts";

const store = createMemoryStore();
const handler = createHandler({ store });

// A mistyped option would have no effect: a missing database would be created, an address taken from anybody.
test.each<[string, () => unknown, string]>([
  [
    "createSqliteStore",
    () => createSqliteStore({ path: ":memory:", ...{ exist: true } }),
    "exist: .*'existing'",
  ],
  [
    "createPostgresStore",
    () => createPostgresStore({ connectionString: "postgres://127.0.0.1/shop", ...{ poolsize: 2 } }),
    "poolsize: .*'poolSize'",
  ],
  [
    "createDynamodbStore",
    () => createDynamodbStore({ prefix: "shop", ...{ table: {} } }),
    "table: .*'tables'",
  ],
  [
    "createAccounts",
    () => createAccounts({ store: store.accounts, environment: "test", ...{ plan: {} } }),
    "plan: .*'plans'",
  ],
  [
    "createOrders",
    () => createOrders({ store: store.orders, ...{ onTransitions: () => {} } }),
    "onTransitions: .*'onTransition'",
  ],
  [
    "toNodeHandler",
    () => toNodeHandler(handler, { trustProxy: false, ...{ trustproxy: true } }),
    "trustproxy: .*'trustProxy'",
  ],
  [
    "webhook",
    () => webhook({ url: "https://shop.example.com", secret: "", ...{ timeout: 1_000 } }),
    "timeout: .*'timeoutMs'",
  ],
  ["createMetrics", () => createMetrics({ regstry: {} } as object), "regstry: .*'registry'"],
  [
    "migratePostgres",
    () => migratePostgres({ connectionString: "postgres://127.0.0.1/shop", ...{ onlyEmpty: true } }),
    "onlyEmpty: .*'onlyIfEmpty'",
  ],
  ["startNodeServer", () => startNodeServer({ handler, ...{ limit: {} } }), "limit: .*'limits'"],
])("%s rejects an option of an unknown name, and names a similar one", async (_name, call, message) => {
  await expect(async () => call()).rejects.toThrow(new RegExp(message));
});
