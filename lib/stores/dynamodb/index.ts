/**
 * The distributed store: two DynamoDB tables, any number of machines.
 *
 * ```ts
 * const { orders, accounts } = createDynamodbStore({ prefix: "shop" });
 * ```
 *
 * Region, credentials and `AWS_ENDPOINT_URL` come from the environment, as in any AWS tool. The infrastructure or
 * `createDynamodbTables` creates the tables `shop-orders` and `shop-accounts`.
 *
 * @module store-orders/dynamodb
 */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Store } from "../store.ts";
import { createAccountStore } from "./accounts.ts";
import { createAdmissionClient, createDynamodbClient } from "./client.ts";
import { tableShapes } from "./layout.ts";
import { createOrderStore } from "./orders.ts";
import { openTable } from "./table.ts";

export {
  InvalidInputError,
  isInvalidInput,
  isStoreUnavailable,
  StoreUnavailableError,
} from "../../errors.ts";
export type { Store } from "../store.ts";
export { createDynamodbTables, deleteDynamodbTables } from "./provision.ts";

/** Options of `createDynamodbStore`. */
export interface DynamodbOptions {
  /** The start of the names of both tables. */
  readonly prefix: string;
  /**
   * A client to use instead of one from the environment. Its retries and timeouts apply within the 4 seconds of a call.
   * It is not closed with the store.
   */
  readonly client?: DynamoDBClient;
}

/** Opens the store. No request is sent before the first call. */
export function createDynamodbStore({ prefix, client }: DynamodbOptions): Store {
  const dynamodb = client ?? createDynamodbClient();
  const admissionClient = client ?? createAdmissionClient(dynamodb);
  // Lists have their own connections, so that admissions and cancels never wait for one.
  const listClient = client ?? createDynamodbClient();
  const { orders, accounts } = tableShapes(prefix);
  return {
    orders: createOrderStore(openTable(dynamodb, orders.name), openTable(listClient, orders.name)),
    accounts: createAccountStore(
      openTable(dynamodb, accounts.name),
      openTable(admissionClient, accounts.name),
    ),
    async close() {
      if (client !== undefined) return;
      dynamodb.destroy();
      admissionClient.destroy();
      listClient.destroy();
    },
  };
}
