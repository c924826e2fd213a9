import { test } from "vitest";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";
import { expectDecisionsOfMemory } from "../account-histories.ts";

const emulator = useEmulator();

test("over any history of an account, the DynamoDB store decides like the memory store", () =>
  expectDecisionsOfMemory(async (run) => {
    const prefix = `model-${run}`;
    await createDynamodbTables({ prefix, client: emulator.client });
    return createDynamodbStore({ prefix, client: emulator.client });
  }));
