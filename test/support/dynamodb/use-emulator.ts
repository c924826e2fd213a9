import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll } from "vitest";
import { clientFor, type Emulator, startEmulator } from "./emulator.ts";

/** Starts an emulator, with a client, for the tests of a file. Both can be used once the tests run. */
export function useEmulator(): { readonly endpoint: string; readonly client: DynamoDBClient } {
  let emulator: Emulator;
  let client: DynamoDBClient;
  beforeAll(async () => {
    emulator = await startEmulator("all-old");
    client = clientFor(emulator.endpoint);
  });
  afterAll(async () => {
    client.destroy();
    await emulator.stop();
  });
  return {
    get endpoint() {
      return emulator.endpoint;
    },
    get client() {
      return client;
    },
  };
}
