import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { ORDER_STATUSES, type OrderStatus, sumByStatus } from "../../lib/orders/lifecycle.ts";
import { toLine } from "../../lib/orders/wire.ts";
import { createDynamodbStore, createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { codeOf, createHandlerFixture } from "../http/fixture.ts";
import { useEmulator } from "../support/dynamodb/use-emulator.ts";
import { temporaryDirectory } from "./sqlite/fixture.ts";

const { newPath } = temporaryDirectory();
const emulator = useEmulator();

const STORES = {
  SQLite: async () => createSqliteStore({ path: newPath() }),
  async DynamoDB() {
    const names = { prefix: "unknown-status", client: emulator.client };
    await createDynamodbTables(names);
    return createDynamodbStore(names);
  },
};

/** As somebody who edits the database can write it. The name of a property that every object has is not a status. */
const UNKNOWN = "constructor" as OrderStatus;
const EDITED = { record: { id: 50n }, status: UNKNOWN };
const PROBLEM = `Order 50 has the status 'constructor', which is not one of ${ORDER_STATUSES.join(", ")}. Correct it in the database.`;

test.each(["SQLite", "DynamoDB"] as const)(
  "an order of %s with a status that no rule knows is listed as it is, and every event of it fails with what to do",
  async (name) => {
    const store = await STORES[name]();
    const { send, events } = await createHandlerFixture({ store });
    await store.orders.place([EDITED]);
    expect(await store.orders.find(50n)).toMatchObject(EDITED);
    const { orders } = await store.orders.page({ limit: 100 });
    expect(orders.map(({ status }) => status)).toEqual([
      "pending",
      "shipped",
      "cancelled",
      UNKNOWN,
      "pending",
    ]);
    expect(await store.orders.countByStatus()).toEqual(
      sumByStatus([
        ["pending", 2],
        ["shipped", 1],
        ["cancelled", 1],
      ]),
    );
    expect(JSON.parse((await send("GET", "/v1/store/orders")).text)).toHaveLength(5);

    for (const event of ["cancel", "ship", "fulfil"] as const) {
      const applied = store.orders.apply(50n, event, 0);
      await expect(applied, event).rejects.toThrow(PROBLEM);
    }
    expect(codeOf(await send("DELETE", "/v1/store/orders/50"))).toBe("internal_error");
    expect(events.at(-1)).toMatchObject({ status: 500, error: { message: PROBLEM } });
    expect(await store.orders.find(50n)).toMatchObject(EDITED);
    expect((await send("DELETE", "/v1/store/orders/1")).status).toBe(204);
    await store.close();
  },
);

test("a record of SQLite that is damaged fails what reads its order, with an error that shows the record", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const db = new DatabaseSync(path);
  db.exec(`UPDATE orders SET record = '{"id":1,"petId":'`);
  db.close();
  const problem = 'The record of order 1 is damaged: {"id":1,"petId":';
  await expect(store.orders.find(1n)).rejects.toThrow(problem);
  await expect(store.orders.apply(1n, "ship", 0)).rejects.toThrow(problem);
  await store.close();
});

test("a line of an export is valid JSON, whatever the status of its order is", () => {
  const status = `"},{"\n` as OrderStatus;
  expect(JSON.parse(toLine({ record: { id: 1n }, status }))).toEqual({ id: 1, status });
});
