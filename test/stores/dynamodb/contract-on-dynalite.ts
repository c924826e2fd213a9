import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll } from "vitest";
import { EVENT_LETTERS } from "../../../lib/orders/history.ts";
import { createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { orderKey } from "../../../lib/stores/dynamodb/schema.ts";
import { clientFor, type Emulator } from "../../support/dynamodb/emulator.ts";
import { makeCallsPatient, startPatience } from "../../support/dynamodb/patient-calls.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";
import { sharedEmulator } from "../../support/dynamodb/use-emulator.ts";
import { openStore } from "../../support/store-address.ts";
import { type ContractPart, testContract } from "../test-contract.ts";

/** Makes the record of an order unreadable, or its history. */
export function damageItem(
  client: ReturnType<typeof clientFor>,
  prefix: string,
  id: bigint,
  part: "record" | "history",
) {
  return client.send(
    new UpdateItemCommand({
      TableName: `${prefix}-orders`,
      Key: orderKey(id),
      UpdateExpression: "SET #part = :text",
      ExpressionAttributeNames: { "#part": part === "record" ? "wire" : EVENT_LETTERS.place },
      ExpressionAttributeValues: { ":text": { S: part === "record" ? '{"id":' : "?" } },
    }),
  );
}

/** The cases of this process so far. Its parts share an emulator. */
let cases = 0;

/**
 * Defines a test for each case of the contract, or of a part of it, against one emulator with separate tables per case.
 * Those of the outbox can run side by side, because one of them at most has a faulty network.
 */
export function testContractOnDynalite(oldItems: "as-is" | "all-old", part?: ContractPart): void {
  let emulator: Emulator;
  let client: ReturnType<typeof clientFor>;
  let proxy: DynamodbProxy;
  let stopPatience = () => {};
  beforeAll(async () => {
    emulator = await sharedEmulator(oldItems);
    client = clientFor(emulator.endpoint);
    proxy = await startProxy(emulator.endpoint);
    if (part === "outbox") stopPatience = startPatience();
  });
  afterAll(async () => {
    stopPatience();
    client.destroy();
    await proxy.close();
  });

  testContract(
    `dynalite ${oldItems}`,
    async (needs) => {
      const prefix = `case-${cases++}`;
      await createDynamodbTables({ prefix, client });
      const isFaulty = needs === "interrupt" || needs === "loseResponse";
      const { endpoint } = isFaulty ? proxy : emulator;
      const open = () => openStore({ kind: "dynamodb", endpoint, prefix });
      // Cases of an outage are about the times of the store.
      if (!isFaulty && part !== "outbox") makeCallsPatient();
      return {
        store: await open(),
        openAnother: open,
        damage: (id, part) => damageItem(client, prefix, id, part),
        async interrupt() {
          proxy.chooseFault = () => "cut";
          return () => {
            proxy.chooseFault = () => "pass";
          };
        },
        loseResponse() {
          proxy.chooseFault = ({ operation }) => {
            if (!/UpdateItem|PutItem/.test(operation)) return "pass";
            proxy.chooseFault = () => "pass";
            return "lose";
          };
        },
      };
    },
    {},
    part,
  );
}
