import {
  CreateTableCommand,
  DeleteTableCommand,
  type DynamoDBClient,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import { assertOptions } from "../../core/errors.ts";
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
export async function createDynamodbTables(options: DynamodbTablesOptions): Promise<void> {
  await forEachTable(options, async (client, definition) => {
    const command = new CreateTableCommand(createTableInput(definition));
    await send(() => client.send(command).catch(ignoring("ResourceInUseException")));
    await send(() => waitUntilTableExists({ client, ...WAITER_OPTIONS }, { TableName: definition.name }));
  });
}

/** Deletes both tables and all their data. A missing table is ignored. */
export async function deleteDynamodbTables(options: DynamodbTablesOptions): Promise<void> {
  await forEachTable(options, async (client, { name: TableName }) => {
    const command = new DeleteTableCommand({ TableName });
    await send(() => client.send(command).catch(ignoring("ResourceNotFoundException")));
    await send(() => waitUntilTableNotExists({ client, ...WAITER_OPTIONS }, { TableName }));
  });
}

async function forEachTable(
  options: DynamodbTablesOptions,
  task: (client: DynamoDBClient, table: TableDefinition) => Promise<void>,
): Promise<void> {
  assertOptions(options, ["prefix", "tables", "client"]);
  const { client: given, ...naming } = options;
  const client = given ?? createDynamodbClient();
  try {
    await Promise.all(Object.values(tableDefinitions(naming)).map((table) => task(client, table)));
  } finally {
    if (given === undefined) client.destroy();
  }
}

function ignoring(name: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Error && error.name === name)) throw error;
  };
}
