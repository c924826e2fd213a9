import { expect, test } from "vitest";
import { deliverChanges } from "../../lib/orders/delivery.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import { backUpSqlite } from "../../lib/stores/sqlite/backup.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import type { Store } from "../../lib/stores/store.ts";
import { changeNumber } from "../support/change-number.ts";
import { temporaryDirectory } from "./sqlite/fixture.ts";

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

test("a receiver that remembers identifiers drops no change of a restored backup, nor of a second database", async () => {
  const [path, to] = [newPath(), newPath()];
  const receiver = createReceiver();
  const store = createSqliteStore({ path });
  await store.outbox?.switch(true);
  const place = (into: Store) => createOrders({ store: into.orders }).place({ id: 7n, quantity: 2 });
  await place(store);
  await receiver.receiveFrom(store);
  expect(await backUpSqlite({ path, to })).toEqual({ ok: true });
  await createOrders({ store: store.orders }).cancel(7n);
  await receiver.receiveFrom(store);
  await store.close();

  const restored = createSqliteStore({ path: to });
  expect(await restored.orders.find(7n)).toMatchObject({ status: "pending" });
  await createOrders({ store: restored.orders }).ship(7n);
  await receiver.receiveFrom(restored);

  const other = createSqliteStore({ path: newPath() });
  await other.outbox?.switch(true);
  await place(other);
  await createOrders({ store: other.orders }).cancel(7n);
  await receiver.receiveFrom(other);

  const changes = [...receiver.handled].map(([id, event]) => `${changeNumber(id)} ${event}`);
  expect(changes).toEqual(["7:1 place", "7:2 cancel", "7:2 ship", "7:1 place", "7:2 cancel"]);
  for (const each of [restored, other]) await each.close();
});
