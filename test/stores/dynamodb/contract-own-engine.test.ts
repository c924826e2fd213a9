/** To run it on DynamoDB Local: docker run -p 8000:8000 amazon/dynamodb-local, and AWS_ENDPOINT_URL=http://127.0.0.1:8000 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe } from "vitest";
import {
  createDynamodbStore,
  createDynamodbTables,
  deleteDynamodbTables,
} from "../../../lib/stores/dynamodb/index.ts";
import { skipsBecause } from "../../support/skip-reason.ts";
import { testContract } from "../test-contract.ts";
import { damageItem } from "./contract-on-dynalite.ts";

const endpoint = process.env["AWS_ENDPOINT_URL"];
const reason = endpoint === undefined ? "AWS_ENDPOINT_URL is not set" : undefined;
describe.skipIf(skipsBecause("store contract on an external engine", reason))(
  `the DynamoDB store fulfils the store contract on the engine at ${endpoint ?? "AWS_ENDPOINT_URL"}`,
  () => {
    let cases = 0;
    const unreachable = "it cannot be interrupted; the emulator runs these cases";
    const open = async () => {
      const client = new DynamoDBClient();
      const prefix = `contract-${process.pid}-${cases++}`;
      await createDynamodbTables({ prefix, client });
      return {
        store: createDynamodbStore({ prefix, client }),
        openAnother: () => createDynamodbStore({ prefix }),
        damage: (id: bigint, part: "record" | "history") => damageItem(client, prefix, id, part),
        async remove() {
          await deleteDynamodbTables({ prefix, client });
          client.destroy();
        },
      };
    };
    const skipped = endpoint === undefined ? {} : { interrupt: unreachable, loseResponse: unreachable };
    testContract("an external engine", open, skipped);
  },
);
