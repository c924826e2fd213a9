import { beforeAll, expect, test } from "vitest";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createPostgresStore, type PostgresPool } from "../../../lib/stores/postgres/index.ts";
import { type Pglite, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
});

test("a list of accounts takes one read for each hundred", async () => {
  let reads = 0;
  const pool: PostgresPool = {
    async connect() {
      reads++;
      return server.pool.connect();
    },
  };
  const { accounts, check } = createPostgresStore({ pool, schema: "accounts" });
  await check();
  await server.database.exec(
    "INSERT INTO accounts.accounts (id, plan) SELECT 'shop-' || n, 'free' FROM generate_series(1000, 1249) AS n",
  );
  const idsFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => `shop-${first + index}`);
  for (const [after, limit, ids, expectedReads] of [
    [undefined, undefined, idsFrom(1000, 250), 3],
    ["shop-1009", 120, idsFrom(1010, 120), 2],
    ["shop-1009", 200, idsFrom(1010, 200), 2],
    ["shop-1050", undefined, idsFrom(1051, 199), 2],
    ["shop-1249", undefined, [], 1],
    [undefined, 0, [], 0],
  ] as const) {
    reads = 0;
    expect((await collect(accounts.list(after, limit))).map(({ id }) => id)).toEqual(ids);
    expect(reads).toBe(expectedReads);
  }
});

test("a page looks for a status among 50 000 orders, and says where the next one begins", async () => {
  const { orders, check } = createPostgresStore({ pool: server.pool, schema: "pages" });
  await check();
  await server.database.exec(`INSERT INTO pages.orders (id, status, record)
    SELECT n, CASE n WHEN 50001 THEN 'shipped' ELSE 'pending' END, '{"id":' || n || '}' FROM generate_series(1, 50003) AS n`);
  const found = { record: { id: 50_001n }, status: "shipped" };
  const shipped = { status: "shipped", limit: 1 } as const;
  expect(await orders.page(shipped)).toEqual({ orders: [], next: 50_000n });
  expect(await orders.page({ ...shipped, after: 1n })).toEqual({ orders: [found], next: 50_001n });
  expect(await orders.page({ ...shipped, after: 50_000n })).toEqual({ orders: [found] });
  expect(await orders.page({ ...shipped, order: "desc" })).toEqual({ orders: [found], next: 4n });
  expect(await orders.page({ ...shipped, order: "desc", after: 50_001n })).toEqual({ orders: [], next: 1n });
  expect(await orders.page({ ...shipped, order: "desc", after: 50_000n })).toEqual({ orders: [] });
});
