import { renameSync } from "node:fs";
import { expect, test } from "vitest";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { temporaryDirectory } from "./fixture.ts";

const { newPath } = temporaryDirectory();

test("another process's change of an order changes the revision", async () => {
  const path = newPath();
  const [store, other] = [createSqliteStore({ path }), createSqliteStore({ path })];
  const before = await store.orders.revision?.();
  expect(await store.orders.revision?.()).toBe(before);
  await other.orders.place([{ record: { id: 1n }, status: "pending" }]);
  expect(await store.orders.revision?.()).not.toBe(before);
  await store.close();
  await other.close();
});

test("another file at the same path has another revision", async () => {
  const [path, replacement] = [newPath(), newPath()];
  await createSqliteStore({ path: replacement }).close();
  const store = createSqliteStore({ path });
  const before = await store.orders.revision?.();
  await store.close();
  renameSync(replacement, path);
  const replaced = createSqliteStore({ path });
  expect(await replaced.orders.revision?.()).not.toBe(before);
  await replaced.close();
});
