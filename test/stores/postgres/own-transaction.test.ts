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

test("another schema version is an outage, after which the connection is free for the ROLLBACK", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "newer" });
  await store.check();
  await server.database.exec("UPDATE newer.settings SET value = '99' WHERE name = 'schema_version'");
  const running: number[] = [];
  await inTransaction("ROLLBACK", async (client) => {
    let open = 0;
    const query = client.query.bind(client);
    const counted: typeof client.query = async (...args) => {
      open++;
      return query(...args).finally(() => open--);
    };
    const orders = store.orders.using(Object.assign(Object.create(client), { query: counted }));
    for (const call of [() => orders.find(1n), () => orders.place([pending(1n)])]) {
      await expect(call()).rejects.toSatisfy(isStoreUnavailable);
      running.push(open);
    }
  });
  expect(running).toEqual([0, 0]);
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

test.each([
  ["that of Drizzle", { query: {}, execute() {} }],
  ["that of Knex", Object.assign(() => {}, { client: {} })],
  ["nothing", undefined],
])("a transaction that is no client of pg is an error that says so: %s", (_, transaction) => {
  const store = createPostgresStore({ pool: server.pool, schema: "builder" });
  expect(() => store.orders.using(transaction as never)).toThrow(
    expect.objectContaining({
      code: "invalid_input",
      message: expect.stringMatching(/^client: Give the client of pg/),
    }),
  );
});

test("an object with another query() than that of pg is an error that says so", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "builder" });
  const orders = store.orders.using({ query: async () => [] } as never);
  for (const call of [orders.find(1n), orders.apply(1n, "cancel", AT)])
    await expect(call).rejects.toThrow(/^client: Give the client of pg/);
});

test("nothing of the caller's session is set but the time limit of a change, and no statement is prepared in it", async () => {
  const store = createPostgresStore({ pool: server.pool, schema: "unset" });
  await store.check();
  await inTransaction("ROLLBACK", async (client) => {
    // Those of a transaction are there in any case.
    const text = "SELECT name, setting FROM pg_settings WHERE name !~ '^transaction_' ORDER BY name";
    const before = await sql(client, text);
    const limited = text.replace("WHERE", "WHERE name <> 'statement_timeout' AND");
    const seen: unknown[] = [];
    const watched: PooledConnection = {
      ...client,
      async query(query) {
        // A pooler can give the next transaction of the program another session.
        expect(query.name).toBeUndefined();
        const response = await client.query(query);
        seen.push(await sql(client, limited));
        return response;
      },
    };
    const orders = store.orders.using(watched);
    await orders.place([pending(1n), pending(1n)]);
    await orders.apply(1n, "cancel", AT);
    await orders.find(1n);
    await orders.page({ limit: 1, status: "cancelled" });
    for await (const _page of orders.list());
    await orders.countByStatus();
    expect(seen.length).toBeGreaterThan(12);
    for (const each of seen) expect(each).toEqual(await sql(client, limited));
    expect(await sql(client, text)).toEqual(before);
  });
});
