import { randomUUID } from "node:crypto";
import { BatchWriteItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { deliverChanges } from "../../lib/orders/delivery.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import { createDynamodbStore, createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { backUpSqlite } from "../../lib/stores/sqlite/backup.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import type { Store } from "../../lib/stores/store.ts";
import { changeNumber } from "../support/change-number.ts";
import { useEmulator } from "../support/dynamodb/use-emulator.ts";
import { startPglite } from "./postgres/pglite.ts";
import { temporaryDirectory } from "./sqlite/fixture.ts";

const emulator = useEmulator();
const { newPath } = temporaryDirectory();

/** A receiver that handles each change once, as lib/README.md tells it to. */
function createReceiver() {
  const handled = new Map<string, string>();
  return {
    handled,
    async receiveFrom(store: Store): Promise<void> {
      const errors: unknown[] = [];
      const { ended } = deliverChanges({
        ...{ store, untilEmpty: true, onError: (error) => errors.push(error) },
        deliver: ({ id, event }) => void (handled.has(id) || handled.set(id, event)),
      });
      await ended;
      expect(errors).toEqual([]);
    },
  };
}

interface Engine {
  open(): Store;
  /** Opens another, empty database. */
  openOther(): Promise<Store>;
  /** Copies the database; returns what opens the copy in its place. */
  backUp(): Promise<() => Promise<Store>>;
}

const ENGINES: Readonly<Record<string, () => Promise<Engine>>> = {
  async SQLite() {
    const path = newPath();
    return {
      open: () => createSqliteStore({ path }),
      openOther: async () => createSqliteStore({ path: newPath() }),
      async backUp() {
        const to = newPath();
        expect(await backUpSqlite({ path, to })).toEqual({ ok: true });
        return async () => createSqliteStore({ path: to });
      },
    };
  },
  async PostgreSQL() {
    const { pool, database } = await startPglite();
    return {
      open: () => createPostgresStore({ pool }),
      openOther: async () => createPostgresStore({ pool, schema: "other" }),
      async backUp() {
        await database.exec(`CREATE TABLE public.orders_copy AS TABLE store_orders.orders;
          CREATE TABLE public.outbox_copy AS TABLE store_orders.outbox`);
        return async () => {
          await database.exec(`SET session_replication_role = replica;
            TRUNCATE store_orders.orders, store_orders.outbox;
            INSERT INTO store_orders.orders TABLE public.orders_copy;
            INSERT INTO store_orders.outbox TABLE public.outbox_copy;
            RESET session_replication_role`);
          return createPostgresStore({ pool });
        };
      },
    };
  },
  async DynamoDB() {
    const { client } = emulator;
    const prefixes = ["restored", "other", "copy"].map((name) => `${name}-${randomUUID()}`);
    for (const prefix of prefixes) await createDynamodbTables({ prefix, client });
    const [prefix = "", other = "", copy = ""] = prefixes;
    return {
      open: () => createDynamodbStore({ prefix, client }),
      openOther: async () => createDynamodbStore({ prefix: other, client }),
      async backUp() {
        // Point-in-time recovery restores into a new table.
        const { Items = [] } = await client.send(new ScanCommand({ TableName: `${prefix}-orders` }));
        const requests = Items.map((Item) => ({ PutRequest: { Item } }));
        await client.send(new BatchWriteItemCommand({ RequestItems: { [`${copy}-orders`]: requests } }));
        return async () => createDynamodbStore({ prefix: copy, client });
      },
    };
  },
};

test.each(Object.keys(ENGINES))(
  "a receiver that remembers identifiers drops no change of a restored backup, nor of a second database: %s",
  { timeout: 120_000 },
  async (name) => {
    const engine = (await ENGINES[name]?.()) ?? expect.fail();
    const receiver = createReceiver();
    const store = engine.open();
    await store.outbox?.switch(true);
    const place = (into: Store) => createOrders({ store: into.orders }).place({ id: 7n, quantity: 2 });
    await place(store);
    await receiver.receiveFrom(store);
    const restore = await engine.backUp();
    await createOrders({ store: store.orders }).cancel(7n);
    await receiver.receiveFrom(store);
    await store.close();

    const restored = await restore();
    expect(await restored.orders.find(7n)).toMatchObject({ status: "pending" });
    await createOrders({ store: restored.orders }).ship(7n);
    await receiver.receiveFrom(restored);

    const other = await engine.openOther();
    await other.outbox?.switch(true);
    await place(other);
    await createOrders({ store: other.orders }).cancel(7n);
    await receiver.receiveFrom(other);

    const changes = [...receiver.handled].map(([id, event]) => `${changeNumber(id)} ${event}`);
    expect(changes).toEqual(["7:1 place", "7:2 cancel", "7:2 ship", "7:1 place", "7:2 cancel"]);
    for (const each of [restored, other]) await each.close();
  },
);
