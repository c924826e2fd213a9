import { BatchGetItemCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { createTableClient } from "../../../lib/stores/dynamodb/table.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY = { id: "acme.first", hash: "1".repeat(64), createdAt: AT };
const ACCOUNT = { id: "acme", plan: "free", keys: [KEY] } as const;

const emulator = useEmulator();

test("items that DynamoDB leaves out of a response are requested again until all are there", async () => {
  const { client } = emulator;
  await createDynamodbTables({ prefix: "unprocessed", client });
  await createDynamodbStore({ prefix: "unprocessed", client }).accounts.create(ACCOUNT);
  const requested: number[] = [];
  const send = async (command: BatchGetItemCommand, options: object) => {
    if (!(command instanceof BatchGetItemCommand)) return client.send(command, options);
    const [[table, { Keys = [], ...rest }] = expect.fail()] = Object.entries(
      command.input.RequestItems ?? {},
    );
    requested.push(Keys.length);
    // None, then one, then the last one.
    const length = requested.length === 1 ? 0 : 1;
    const part = { [table]: { ...rest, Keys: Keys.slice(0, length) } };
    const found =
      length === 0 ? {} : await client.send(new BatchGetItemCommand({ RequestItems: part }), options);
    const left = Keys.slice(length);
    return { ...found, ...(left.length > 0 && { UnprocessedKeys: { [table]: { ...rest, Keys: left } } }) };
  };
  const throttled = createDynamodbStore({
    ...{ prefix: "unprocessed", client: { send } as unknown as DynamoDBClient },
  });
  expect(await throttled.accounts.find("acme")).toMatchObject(ACCOUNT);
  expect(requested).toEqual([2, 2, 1]);
});

test("no item, one item, and one that is requested twice are found once each", async () => {
  const { client } = emulator;
  await createDynamodbTables({ prefix: "repeated", client });
  await createDynamodbStore({ prefix: "repeated", client }).accounts.create(ACCOUNT);
  const { getAll } = createTableClient(client, "repeated-accounts");
  const key = { id: { S: "acme" } };
  for (const [keys, found] of [
    [[], 0],
    [[key], 1],
    [[key, { ...key }, key], 1],
  ] as const)
    expect(await getAll(keys, AbortSignal.timeout(5_000))).toHaveLength(found);
});
