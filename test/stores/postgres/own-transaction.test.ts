import { beforeAll, expect, test } from "vitest";
import { isInvalidInput, isStoreUnavailable } from "../../../lib/core/errors.ts";
import { createOrders } from "../../../lib/orders/orders.ts";
import { createPostgresStore, type PooledConnection } from "../../../lib/stores/postgres/index.ts";
import { type Pglite, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
  await server.database.exec("CREATE TABLE invoices (order_id bigint PRIMARY KEY)");
});

const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;
const AT = Date.UTC(2026, 10, 20, 12);

/** Runs SQL as the program that the transaction belongs to. */
async function sql(client: PooledConnection, text: string): Promise<readonly (readonly unknown[])[]> {
  const types = { getTypeParser: () => (value: string) => value };
  return ((await client.query({ text, rowMode: "array", types })) as { rows: unknown[][] }).rows;
}

async function inTransaction(end: "COMMIT" | "ROLLBACK", work: (client: PooledConnection) => Promise<void>) {
  const client = await server.pool.connect();
  try {
    await sql(client, "BEGIN");
    await work(client);
    await sql(client, end);
  } finally {
    client.release();
  }
}

test("an order that is placed in a transaction is stored with its other rows, or not at all", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "placed" });
  await store.check();
  for (const [id, end] of [
    [1n, "ROLLBACK"],
    [2n, "COMMIT"],
  ] as const) {
    await inTransaction(end, async (client) => {
      const orders = store.orders.using(client);
      await sql(client, `INSERT INTO invoices VALUES (${id})`);
      expect(await orders.place([pending(id), pending(id)])).toEqual(["placed", "unchanged"]);
      expect(await orders.find(id), "visible in the transaction").toMatchObject(pending(id));
      expect((await orders.page({ limit: 10 })).orders).toEqual([pending(id)]);
    });
  }
  expect((await store.orders.page({ limit: 10 })).orders).toEqual([pending(2n)]);
  const client = await server.pool.connect();
  expect((await sql(client, "SELECT order_id FROM invoices")).map(String)).toEqual(["2"]);
  client.release();
});

test("an event takes place when the transaction is committed, with the same rules", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "changed" });
  await store.orders.place([pending(1n)]);
  await inTransaction("ROLLBACK", async (client) => {
    expect((await store.orders.using(client).apply(1n, "ship", AT)).ok).toBe(true);
  });
  expect(await store.orders.find(1n)).toMatchObject(pending(1n));
  await inTransaction("COMMIT", async (client) => {
    const orders = createOrders({ store: store.orders.using(client) });
    expect((await orders.cancel(1n)).ok).toBe(true);
    expect(await orders.ship(1n)).toMatchObject({ ok: false, code: "order_already_cancelled" });
    expect(await orders.cancel(2n)).toEqual({ ok: false, code: "order_not_found" });
  });
  expect((await store.orders.find(1n))?.status).toBe("cancelled");
});

test("a transaction sees another schema version as every call does", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "newer" });
  await store.check();
  await server.database.exec("UPDATE newer.settings SET value = '99' WHERE name = 'schema_version'");
  await inTransaction("ROLLBACK", async (client) => {
    const orders = store.orders.using(client);
    await expect(orders.place([pending(1n)])).rejects.toSatisfy(isStoreUnavailable);
    await expect(orders.find(1n)).rejects.toSatisfy(isStoreUnavailable);
  });
});

test("without a transaction every call is an error that says so, and writes nothing", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "autocommit" });
  await store.orders.place([pending(1n)]);
  const client = await server.pool.connect();
  const orders = store.orders.using(client);
  for (const call of [
    () => orders.place([pending(2n)]),
    () => orders.apply(1n, "cancel", AT),
    () => orders.find(1n),
  ]) {
    const error = await call().catch((reason: unknown) => reason);
    expect(isInvalidInput(error) && error.message).toMatch(
      /^client: There is no transaction.*with BEGIN.*not a pool/,
    );
  }
  client.release();
  expect((await store.orders.page({ limit: 10 })).orders).toEqual([pending(1n)]);
});

test("a COMMIT that does not wait for a call is an error of the call, which writes nothing", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "hasty" });
  await store.orders.place([pending(1n)]);
  await inTransaction("ROLLBACK", async (client) => {
    let sent = 0;
    const hasty: PooledConnection = {
      ...client,
      async query(query) {
        // It arrives when the order was read, before it is written.
        if (sent++ === 3) await sql(client, "COMMIT");
        return client.query(query);
      },
    };
    await expect(store.orders.using(hasty).apply(1n, "cancel", AT)).rejects.toSatisfy(isInvalidInput);
    expect(sent).toBeGreaterThan(3);
  });
  expect(await store.orders.find(1n)).toMatchObject(pending(1n));
});

test("calls that do not wait for each other follow one another, also after one that was rejected", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "turns" });
  await store.orders.place([pending(1n)]);
  await inTransaction("ROLLBACK", async (client) => {
    const [one, other] = [store.orders.using(client), store.orders.using(client)];
    const results = await Promise.all([one.apply(1n, "cancel", AT), other.apply(1n, "ship", AT)]);
    expect(results).toMatchObject([{ ok: true }, { ok: false, code: "order_already_cancelled" }]);
    const failed = one.place([{ record: { id: 2n ** 63n }, status: "pending" }]);
    const next = other.find(1n);
    await expect(failed).rejects.toThrow("out of range");
    await expect(next).rejects.toSatisfy((error) => isStoreUnavailable(error) && !error.retryable);
  });
});

test("the server limits the statements of a call, and keeps the limits of the transaction", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "limited" });
  await store.check();
  for (const [limit, expected] of [
    ["0", /^[34]\d\d\dms$|^4s$/],
    ["1min", /^[34]\d\d\dms$|^4s$/],
    ["700ms", /^700ms$/],
  ] as const) {
    await inTransaction("ROLLBACK", async (client) => {
      const limits: string[] = [];
      let sent = 0;
      const readLimit = async () => String(await sql(client, "SHOW statement_timeout"));
      const watched: PooledConnection = {
        ...client,
        async query(query) {
          sent++;
          // A pooler can give the next transaction of the program another session.
          expect(query.name).toBeUndefined();
          if (query.values !== undefined) limits.push(await readLimit());
          return client.query(query);
        },
      };
      await sql(client, `SET LOCAL statement_timeout = '${limit}'`);
      const orders = store.orders.using(watched);
      await orders.place([pending(1n)]);
      expect(await readLimit()).toBe(limit);
      await orders.apply(1n, "cancel", AT);
      await orders.find(1n);
      expect(await readLimit()).toBe(limit);
      expect(limits).toHaveLength(4);
      // Each statement with the two that set its limit and restore it.
      expect(sent).toBe(3 * limits.length);
      for (const set of limits) expect(set).toMatch(expected);
    });
  }
});
