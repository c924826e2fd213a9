import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { beforeAll } from "vitest";
import { clientFor, type Emulator, startEmulator } from "./emulator.ts";
import { startPatience } from "./patient-calls.ts";

/** The suites of a process share it, each with tables of its own: starting it takes a second. It ends with the process. */
const started = new Map<string, Promise<Emulator>>();

/** Starts an emulator if this process has none. */
export function sharedEmulator(...[oldItems]: Parameters<typeof startEmulator>): Promise<Emulator> {
  const emulator = started.get(oldItems) ?? startEmulator(oldItems);
  started.set(oldItems, emulator);
  return emulator;
}

/** An emulator, with a client and patient calls, for the tests of a file. Both can be used once the tests run. */
export function useEmulator(): { readonly endpoint: string; readonly client: DynamoDBClient } {
  let emulator: Emulator;
  let client: DynamoDBClient;
  beforeAll(async () => {
    emulator = await sharedEmulator("all-old");
    client = clientFor(emulator.endpoint);
    const stopPatience = startPatience();
    return () => {
      stopPatience();
      client.destroy();
    };
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
