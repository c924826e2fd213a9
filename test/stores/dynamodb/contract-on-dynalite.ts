import { afterAll, beforeAll, test } from "vitest";
import { storeContract } from "../../../lib/stores/contract/index.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { clientFor, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";

/** Defines a test for each case of the contract, against one emulator with separate tables per case. */
export function testContractOnDynalite(oldItems: "as-is" | "all-old"): void {
  let emulator: Emulator;
  let client: ReturnType<typeof clientFor>;
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

  storeContract.forEach(({ name, check }, index) => {
    test(name, () => check(createDynamodbStore({ prefix: `case-${index}`, client })));
  });
}
