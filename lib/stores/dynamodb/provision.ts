import {
  CreateTableCommand,
  DeleteTableCommand,
  type DynamoDBClient,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import { createDynamodbClient, send } from "./client.ts";
import {
  createTableInput,
  type DynamodbTableNaming,
  type TableDefinition,
  tableDefinitions,
} from "./schema.ts";

type DynamodbTablesOptions = DynamodbTableNaming & { readonly client?: DynamoDBClient };

const WAITER_OPTIONS = { maxWaitTime: 120, minDelay: 0.05, maxDelay: 5 };

/** Creates both tables, for emulators and for trying things out. Existing tables are not changed. */
export async function createDynamodbTables({ client, ...naming }: DynamodbTablesOptions): Promise<void> {
  await withClient(client, async (dynamodb) => {
    const create = async (definition: TableDefinition) => {
      const command = new CreateTableCommand(createTableInput(definition));
      await send(() => dynamodb.send(command).catch(ignoring("ResourceInUseException")));
      await send(() =>
        waitUntilTableExists({ client: dynamodb, ...WAITER_OPTIONS }, { TableName: definition.name }),
      );
    };
    await Promise.all(Object.values(tableDefinitions(naming)).map(create));
  });
}

/** Deletes both tables and all their data. A missing table is ignored. */
export async function deleteDynamodbTables({ client, ...naming }: DynamodbTablesOptions): Promise<void> {
  await withClient(client, async (dynamodb) => {
    const drop = async ({ name }: TableDefinition) => {
      const command = new DeleteTableCommand({ TableName: name });
      await send(() => dynamodb.send(command).catch(ignoring("ResourceNotFoundException")));
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

function ignoring(name: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Error && error.name === name)) throw error;
  };
}
