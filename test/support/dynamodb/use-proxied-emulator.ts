import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll } from "vitest";
import { clientFor, type Emulator, startEmulator } from "./emulator.ts";
import { type DynamodbProxy, startProxy } from "./proxy.ts";

/** Starts an emulator behind a proxy, with a client, for the tests of a file. All can be used once the tests run. */
export function useProxiedEmulator(): { readonly proxy: DynamodbProxy; readonly client: DynamoDBClient } {
  let emulator: Emulator;
  let proxy: DynamodbProxy;
  let client: DynamoDBClient;
  beforeAll(async () => {
    emulator = await startEmulator("all-old");
    proxy = await startProxy(emulator.endpoint);
    client = clientFor(proxy.endpoint);
  });
  afterAll(async () => {
    client.destroy();
    await proxy.close();
    await emulator.stop();
  });
  return {
    get proxy() {
      return proxy;
    },
    get client() {
      return client;
    },
  };
}
