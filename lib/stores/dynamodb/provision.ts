import {
  CreateTableCommand,
  DeleteTableCommand,
  type DynamoDBClient,
  PutItemCommand,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import { InvalidInputError } from "../../errors.ts";
import { ask, createDynamodbClient } from "./client.ts";
import { createTableInput, DEFAULT_BUCKETS, SETTINGS_KEY, type TableShape, tableShapes } from "./layout.ts";

/** Which tables to make or delete. */
export interface DynamodbTablesOptions {
  readonly prefix: string;
  readonly client?: DynamoDBClient;
}

const WAITER_OPTIONS = { maxWaitTime: 120, minDelay: 0.05, maxDelay: 5 };

/**
 * Makes both tables, for emulators and for trying things out; a table that is there is left as it is. `buckets` is
 * fixed for the life of the orders table, since it tells where each order is.
 */
export async function createDynamodbTables({
  prefix,
  client,
  buckets = DEFAULT_BUCKETS,
}: DynamodbTablesOptions & {
  /** @default 16 */
  readonly buckets?: number;
}): Promise<void> {
  if (!Number.isInteger(buckets) || buckets < 1 || buckets > 256) {
    throw new InvalidInputError([{ path: "buckets", message: "Give a whole number from 1 to 256." }]);
  }
  const { orders, accounts } = tableShapes(prefix);
  await withClient(client, async (dynamodb) => {
    const create = async (shape: TableShape) => {
      const command = new CreateTableCommand(createTableInput(shape));
      const made = await unless("ResourceInUseException", () => dynamodb.send(command));
      await ask(() =>
        waitUntilTableExists({ client: dynamodb, ...WAITER_OPTIONS }, { TableName: shape.name }),
      );
      return made;
    };
    const [isNew] = await Promise.all([create(orders), create(accounts)]);
    const settings = { ...SETTINGS_KEY, buckets: { N: String(buckets) } };
    if (isNew) await ask(() => dynamodb.send(new PutItemCommand({ TableName: orders.name, Item: settings })));
  });
}

/** Deletes both tables with everything in them; a table that is not there is none to delete. */
export async function deleteDynamodbTables({ prefix, client }: DynamodbTablesOptions): Promise<void> {
  await withClient(client, async (dynamodb) => {
    const drop = async ({ name }: TableShape) => {
      const command = new DeleteTableCommand({ TableName: name });
      await unless("ResourceNotFoundException", () => dynamodb.send(command));
      await ask(() => waitUntilTableNotExists({ client: dynamodb, ...WAITER_OPTIONS }, { TableName: name }));
    };
    await Promise.all(Object.values(tableShapes(prefix)).map(drop));
  });
}

async function withClient(
  given: DynamoDBClient | undefined,
  work: (client: DynamoDBClient) => Promise<void>,
): Promise<void> {
  const client = given ?? createDynamodbClient();
  try {
    await work(client);
  } finally {
    if (given === undefined) client.destroy();
  }
}

/** False where the engine answers with an error of this name. */
async function unless(name: string, request: () => Promise<unknown>): Promise<boolean> {
  return ask(async () => {
    try {
      await request();
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === name) return false;
      throw error;
    }
  });
}
