/** To run it on DynamoDB Local: docker run -p 8000:8000 amazon/dynamodb-local, and AWS_ENDPOINT_URL=http://127.0.0.1:8000 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe, test } from "vitest";
import { storeContract } from "../../../lib/stores/contract/index.ts";
import {
  createDynamodbStore,
  createDynamodbTables,
  deleteDynamodbTables,
} from "../../../lib/stores/dynamodb/index.ts";
import { skipsBecause } from "../../support/skip-reason.ts";

const endpoint = process.env["AWS_ENDPOINT_URL"];
const reason = endpoint === undefined ? "AWS_ENDPOINT_URL is not set" : undefined;
describe.skipIf(skipsBecause("store contract on an external engine", reason))(
  `the DynamoDB store fulfils the store contract on the engine at ${endpoint ?? "AWS_ENDPOINT_URL"}`,
  () => {
    storeContract.forEach(({ name, check }, index) => {
      test(name, { timeout: 300_000 }, async () => {
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
  },
);
