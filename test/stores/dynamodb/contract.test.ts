import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, test } from "vitest";
import { storeContract } from "../../../lib/stores/contract/index.ts";
import {
  createDynamodbStore,
  createDynamodbTables,
  deleteDynamodbTables,
} from "../../../lib/stores/dynamodb/index.ts";
import { clientFor, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";

describe.each(["as-is", "all-old"] as const)("on dynalite, %s, the DynamoDB store", (oldItems) => {
  let emulator: Emulator;
  let client: DynamoDBClient;
  beforeAll(async () => {
    emulator = await startEmulator(oldItems);
    client = clientFor(emulator.endpoint);
    await Promise.all(
      storeContract.map((_, index) => createDynamodbTables({ prefix: `case-${index}`, client })),
    );
  });
  afterAll(async () => {
    client.destroy();
    await emulator.stop();
  });

  storeContract.forEach(({ name: promise, check }, index) => {
    test(promise, () => check(createDynamodbStore({ prefix: `case-${index}`, client })));
  });
});

// With DynamoDB Local: docker run -p 8000:8000 amazon/dynamodb-local, and AWS_ENDPOINT_URL=http://127.0.0.1:8000
const endpoint = process.env["AWS_ENDPOINT_URL"];
if (endpoint === undefined) {
  process.stderr.write("the contract at an engine of your own: skipped, AWS_ENDPOINT_URL is not set\n");
}
describe.skipIf(endpoint === undefined)(`at ${endpoint ?? "no AWS_ENDPOINT_URL"}, the DynamoDB store`, () => {
  storeContract.forEach(({ name: promise, check }, index) => {
    test(promise, { timeout: 300_000 }, async () => {
      const client = new DynamoDBClient();
      const prefix = `contract-${process.pid}-${index}`;
      await createDynamodbTables({ prefix, client });
      try {
        await check(createDynamodbStore({ prefix, client }));
      } finally {
        await deleteDynamodbTables({ prefix, client });
        client.destroy();
      }
    });
  });
});
