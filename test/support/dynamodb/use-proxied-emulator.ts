import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll } from "vitest";
import { clientFor } from "./emulator.ts";
import { type DynamodbProxy, startProxy } from "./proxy.ts";
import { useEmulator } from "./use-emulator.ts";

/** An emulator behind a proxy, with a client, for the tests of a file. All can be used once the tests run. */
export function useProxiedEmulator(): { readonly proxy: DynamodbProxy; readonly client: DynamoDBClient } {
  const emulator = useEmulator();
  let proxy: DynamodbProxy;
  let client: DynamoDBClient;
  beforeAll(async () => {
    proxy = await startProxy(emulator.endpoint);
    client = clientFor(proxy.endpoint);
  });
  afterAll(async () => {
    client.destroy();
    await proxy.close();
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
