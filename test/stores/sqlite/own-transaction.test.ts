import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { isInvalidInput, isStoreUnavailable } from "../../../lib/core/errors.ts";
import { temporaryDirectory } from "./fixture.ts";

const { open } = temporaryDirectory();
const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;

test("an order that is placed or cancelled in a transaction is stored with its other rows, or not at all", async () => {
  const { path, store } = open();
  await store.orders.place([pending(1n)]);
  const own = new DatabaseSync(path);
  own.exec("CREATE TABLE invoices (order_id INTEGER PRIMARY KEY)");
  const orders = store.orders.using(own);
  for (const end of ["ROLLBACK", "COMMIT"]) {
    own.exec("BEGIN IMMEDIATE; INSERT INTO invoices VALUES (2)");
    expect(await orders.place([pending(2n)])).toEqual(["placed"]);
    expect((await orders.apply(1n, "cancel", 0)).ok).toBe(true);
    expect((await orders.find(1n))?.status, "visible in the transaction").toBe("cancelled");
    expect((await store.orders.find(1n))?.status, "not visible outside of it").toBe("pending");
    own.exec(end);
    const isCommitted = end === "COMMIT";
    const stored = isCommitted ? [{ ...pending(1n), status: "cancelled" }, pending(2n)] : [pending(1n)];
    expect((await store.orders.page({ limit: 10 })).orders).toEqual(stored);
    expect(await store.orders.countByStatus()).toMatchObject({ pending: 1, cancelled: isCommitted ? 1 : 0 });
    expect(own.prepare("SELECT count(*) AS count FROM invoices").get()).toEqual({
      count: isCommitted ? 1 : 0,
    });
  }
  own.exec("PRAGMA user_version = 99; BEGIN");
  await expect(orders.place([pending(3n)])).rejects.toSatisfy(isStoreUnavailable);
  own.close();
});

test("a write of the store waits for the transaction of another connection in the same process", async () => {
  const { path, store } = open();
  const own = new DatabaseSync(path);
  own.exec("BEGIN IMMEDIATE");
  await store.orders.using(own).place([pending(1n)]);
  const placed = store.orders.place([pending(1n)]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  own.exec("COMMIT");
  expect(await placed).toEqual(["unchanged"]);
  own.close();
});

test("without a transaction every call is an error that says so, and writes nothing", async () => {
  const { path, store } = open();
  const own = new DatabaseSync(path);
  const orders = store.orders.using(own);
  for (const call of [
    () => orders.place([pending(1n)]),
    () => orders.apply(1n, "cancel", 0),
    () => orders.find(1n),
  ]) {
    const error = await call().catch((reason: unknown) => reason);
    expect(isInvalidInput(error) && error.message).toMatch(/^connection: There is no transaction/);
  }
  expect((await store.orders.page({ limit: 1 })).orders).toEqual([]);
  own.close();
});

test("temporary tables of the caller that have the names of the store's are not used", async () => {
  const { path, store } = open();
  await store.outbox?.switch(true);
  const own = new DatabaseSync(path);
  own.exec(
    "CREATE TEMP TABLE orders (id, status, record, history); CREATE TEMP TABLE outbox (id, delivered, since)",
  );
  own.exec("BEGIN IMMEDIATE");
  const orders = store.orders.using(own);
  expect(await orders.place([pending(1n), pending(2n)])).toEqual(["placed", "placed"]);
  expect((await orders.apply(1n, "cancel", 0)).ok).toBe(true);
  const pages: string[] = [];
  for await (const { json } of orders.list()) pages.push(json);
  expect(pages.join("")).toBe('{"id":1},{"id":2}');
  expect((await orders.page({ limit: 9, status: "pending" })).orders).toEqual([pending(2n)]);
  expect(await orders.countByStatus()).toMatchObject({ pending: 1, cancelled: 1 });
  own.exec("COMMIT");
  expect((await store.orders.find(1n))?.status).toBe("cancelled");
  expect(await store.outbox?.backlog()).toMatchObject({ waiting: 2 });
  own.close();
});
