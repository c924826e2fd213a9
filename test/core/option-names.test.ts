import { expect, test } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { startNodeServer, toNodeHandler } from "../../lib/node/index.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";

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
  ["startNodeServer", () => startNodeServer({ handler, ...{ limit: {} } }), "limit: .*'limits'"],
])("%s rejects an option of an unknown name, and names a similar one", async (_name, call, message) => {
  await expect(async () => call()).rejects.toThrow(new RegExp(message));
});
