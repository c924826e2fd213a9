/**
 * The distributed store: two DynamoDB tables, any number of machines.
 *
 * ```ts
 * const { orders, accounts } = createDynamodbStore({ prefix: "shop" });
 * ```
 *
 * Region, credentials and `AWS_ENDPOINT_URL` come from the environment, as in any AWS tool. The infrastructure or
 * `createDynamodbTables` creates the tables `shop-orders` and `shop-accounts`. Tables with other names, such as restored
 * ones, are named each: `createDynamodbStore({ tables: { orders: "shop-orders-restored", accounts: "shop-accounts" } })`.
 *
 * @module store-orders/dynamodb
 */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createPending } from "../../core/concurrency.ts";
import { assertOptions } from "../../core/errors.ts";
import type { Store } from "../store.ts";
import { createAccountStore } from "./accounts.ts";
import { callTimeout, createAdmissionClient, createDynamodbClient } from "./client.ts";
import { createOrderStore } from "./orders.ts";
import { createMarking, createOutbox } from "./outbox.ts";
import {
  type DynamodbTableNaming,
  LAYOUT_VERSION,
  ORDERS_SETTINGS_KEY,
  SETTINGS_KEY,
  tableDefinitions,
} from "./schema.ts";
import { createTableClient, numberValue } from "./table.ts";

export type { AccountStore } from "../../accounts/account-store.ts";
export {
  InvalidInputError,
  isInvalidInput,
  isStoreUnavailable,
  StoreUnavailableError,
} from "../../core/errors.ts";
export type { OrderStore, Outbox } from "../../orders/order-store.ts";
export type { Store } from "../store.ts";
export { createDynamodbTables, deleteDynamodbTables } from "./provision.ts";
export type { DynamodbTableNames, DynamodbTableNaming } from "./schema.ts";

/** Options of `createDynamodbStore`: `prefix`, `tables` or both, and the others. */
export type DynamodbOptions = DynamodbTableNaming & {
  /** For a process that serves one request at a time: lists use the connections of the other calls. @default false */
  readonly sharedConnections?: boolean;
  /** Used instead of one from the environment, and not closed. Its retries and timeouts apply within 4.5 seconds. */
  readonly client?: DynamoDBClient;
};

/** A write that is never done, because its condition contradicts itself. It needs what other writes need. */
const NO_UPDATE = {
  set: ["#layout = :layout"],
  conditions: ["attribute_exists(#id)", "attribute_not_exists(#id)"],
  values: { ":layout": numberValue(LAYOUT_VERSION) },
};

/** A store on DynamoDB. */
export interface DynamodbStore extends Store {
  /** Opens the connections that the first request needs. Rejects as any call does. */
  warmUp(): Promise<void>;
}

/** Sends no request before the first call. @throws {InvalidInputError} if a table has no name, or both the same */
export function createDynamodbStore(options: DynamodbOptions): DynamodbStore {
  assertOptions(options, ["prefix", "tables", "client", "sharedConnections"]);
  const { client, sharedConnections = false, ...naming } = options;
  const dynamodb = client ?? createDynamodbClient();
  const admissionClient = client ?? createAdmissionClient(dynamodb);
  // Lists have their own connections, so that admissions and cancels never wait for one.
  const listClient = client ?? (sharedConnections ? dynamodb : createDynamodbClient());
  const { orders, accounts } = tableDefinitions(naming);
  const { track, settled } = createPending();
  const ordersTable = createTableClient(dynamodb, orders.name, track);
  const listTable = createTableClient(listClient, orders.name, track);
  const accountsTable = createTableClient(dynamodb, accounts.name, track);
  const admissionTable = createTableClient(admissionClient, accounts.name, track);
  return {
    orders: createOrderStore(ordersTable, listTable, createMarking(ordersTable)),
    accounts: createAccountStore(accountsTable, admissionTable),
    outbox: createOutbox(ordersTable),
    async check() {
      const signal = callTimeout();
      await Promise.all([
        ordersTable.update(ORDERS_SETTINGS_KEY, NO_UPDATE, signal),
        accountsTable.update(SETTINGS_KEY, NO_UPDATE, signal),
      ]);
    },
    async warmUp() {
      // One after another, over the same connection.
      await admissionTable.get(SETTINGS_KEY, callTimeout());
      await ordersTable.get(ORDERS_SETTINGS_KEY, callTimeout());
    },
    async close() {
      // To destroy a client cuts its requests off.
      await settled();
      if (client !== undefined) return;
      // This closes the connections of admissions, too: they are the same.
      dynamodb.destroy();
      listClient.destroy();
    },
  };
}
