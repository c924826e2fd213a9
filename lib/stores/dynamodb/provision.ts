import {
  CreateTableCommand,
  DeleteTableCommand,
  type DynamoDBClient,
  PutItemCommand,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import { invalidInput } from "../../core/errors.ts";
import { createDynamodbClient, send } from "./client.ts";
import {
  BUCKET_COUNT_KEY,
  createTableInput,
  DEFAULT_BUCKETS,
  type DynamodbTableNaming,
  MAX_BUCKETS,
  type TableDefinition,
  tableDefinitions,
} from "./schema.ts";

type DynamodbTablesOptions = DynamodbTableNaming & { readonly client?: DynamoDBClient };

const WAITER_OPTIONS = { maxWaitTime: 120, minDelay: 0.05, maxDelay: 5 };

/**
 * Creates both tables, for emulators and for trying things out. Existing tables are not changed. `buckets` is the
 * number of buckets of orders. It cannot change later, because it determines where each order is stored.
 */
export async function createDynamodbTables({
  client,
  buckets = DEFAULT_BUCKETS,
  ...naming
}: DynamodbTablesOptions & {
  /** @default 16 */
  readonly buckets?: number;
}): Promise<void> {
  if (!Number.isInteger(buckets) || buckets < 1 || buckets > MAX_BUCKETS)
    throw invalidInput("buckets", `Use a whole number from 1 to ${MAX_BUCKETS}.`);
  const { orders, accounts } = tableDefinitions(naming);
  await withClient(client, async (dynamodb) => {
    const create = async (definition: TableDefinition) => {
      const command = new CreateTableCommand(createTableInput(definition));
      const created = await unless("ResourceInUseException", () => dynamodb.send(command));
      await send(() =>
        waitUntilTableExists({ client: dynamodb, ...WAITER_OPTIONS }, { TableName: definition.name }),
      );
      return created;
    };
    const [isNew] = await Promise.all([create(orders), create(accounts)]);
    const bucketCount = { ...BUCKET_COUNT_KEY, buckets: { N: String(buckets) } };
    if (isNew)
      await send(() => dynamodb.send(new PutItemCommand({ TableName: orders.name, Item: bucketCount })));
  });
}

/** Deletes both tables and all their data. A missing table is ignored. */
export async function deleteDynamodbTables({ client, ...naming }: DynamodbTablesOptions): Promise<void> {
  await withClient(client, async (dynamodb) => {
    const drop = async ({ name }: TableDefinition) => {
      const command = new DeleteTableCommand({ TableName: name });
      await unless("ResourceNotFoundException", () => dynamodb.send(command));
      await send(() => waitUntilTableNotExists({ client: dynamodb, ...WAITER_OPTIONS }, { TableName: name }));
    };
    await Promise.all(Object.values(tableDefinitions(naming)).map(drop));
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

/** False if DynamoDB responds with the given error. */
async function unless(name: string, request: () => Promise<unknown>): Promise<boolean> {
  return send(async () => {
    try {
      await request();
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === name) return false;
      throw error;
    }
  });
}
