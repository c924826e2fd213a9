import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { itemSize } from "../../support/dynamodb/item-size.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const emulator = useEmulator();

test("the history of a short order adds 44 % to what a list reads of it, and 153 % if the API cancels it", async () => {
  const prefix = "sizes";
  await createDynamodbTables({ prefix, client: emulator.client });
  const { orders } = createDynamodbStore({ prefix, client: emulator.client });
  await orders.place([{ record: { id: 1001n, petId: 7n, quantity: 2 }, status: "pending" }], AT, {
    by: "orders import",
  });
  const read = async () => {
    const { Items = [] } = await emulator.client.send(new ScanCommand({ TableName: `${prefix}-orders` }));
    return Items.find(({ wire }) => wire !== undefined) ?? expect.fail();
  };
  const { p, ...item } = await read();
  expect([itemSize(item), itemSize({ p } as typeof item)]).toEqual([64, 28]);
  const requestId = crypto.randomUUID();
  await orders.apply(1001n, "cancel", AT, { by: "acme.9fK2mXq3Lb", requestId });
  const { c, ...cancelled } = await read();
  expect(itemSize({ c } as typeof item)).toBe(73);
  expect(itemSize(cancelled)).toBe(66 + 28);
  expect((await orders.find(1001n))?.history[1]).toMatchObject({
    event: "cancel",
    at: AT,
    by: "acme.9fK2mXq3Lb",
    requestId,
  });
});
