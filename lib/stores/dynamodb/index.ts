/**
 * Everything in two DynamoDB tables, for where one machine is not enough.
 *
 * ```ts
 * const { orders, accounts } = createDynamodbStore({ prefix: "shop" });
 * ```
 *
 * Region, credentials and `AWS_ENDPOINT_URL` come from the environment, as every AWS tool takes them. The tables
 * `shop-orders` and `shop-accounts` are made by the infrastructure or by `createDynamodbTables`.
 *
 * @module store-orders/dynamodb
 */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Store } from "../store.ts";
import { createAccountStore } from "./accounts.ts";
import { createDynamodbClient } from "./client.ts";
import { tableShapes } from "./layout.ts";
import { createOrderStore } from "./orders.ts";
import { openTable } from "./table.ts";

export { createDynamodbTables, deleteDynamodbTables } from "./provision.ts";

/** Where the tables are. */
export interface DynamodbOptions {
  /** What the names of both tables begin with. */
  readonly prefix: string;
  /**
   * A client to use instead of one made from the environment. Its own tries and time-outs then hold within the
   * budget of a call; it is not closed with the store.
   */
  readonly client?: DynamoDBClient;
}

/** Opens the store. Nothing is asked before the first call. */
export function createDynamodbStore({ prefix, client }: DynamodbOptions): Store {
  const dynamodb = client ?? createDynamodbClient();
  const { orders, accounts } = tableShapes(prefix);
  return {
    orders: createOrderStore(openTable(dynamodb, orders.name)),
    accounts: createAccountStore(openTable(dynamodb, accounts.name)),
    async close() {
      if (client === undefined) dynamodb.destroy();
    },
  };
}
