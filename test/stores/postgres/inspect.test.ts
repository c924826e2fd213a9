import { beforeAll, expect, test } from "vitest";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createPostgresStore } from "../../../lib/stores/postgres/index.ts";
import { inspectPostgres } from "../../../lib/stores/postgres/inspect.ts";
import { type Pglite, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
});

test("missing keys of tables, a key without its account and half of the limits are reported, with their repair", async () => {
  const { accounts } = createPostgresStore({ pool: server.pool, schema: "damaged" });
  for (const id of ["gone", "half"])
    await accounts.create({ id, plan: "free", keys: [{ id: `${id}.1`, hash: id, createdAt: 0 }] });
  const { inspect, close } = inspectPostgres(server.pool, "damaged");
  const inspected = async () => {
    const found: unknown[] = [];
    expect(await inspect((finding) => found.push(finding))).toBe(true);
    return found;
  };
  expect(await inspected()).toEqual([]);
  await server.database.exec(`SET search_path = damaged;
    ALTER TABLE api_keys DROP CONSTRAINT api_keys_account_fkey;
    ALTER TABLE settings DROP CONSTRAINT settings_pkey;
    UPDATE accounts SET per_day = 1 WHERE id = 'half';
    DELETE FROM accounts WHERE id = 'gone'; RESET search_path`);
  const repair = "Add it as 'database migrate --print' prints it, once no row breaks it.";
  expect(await inspected()).toEqual([
    {
      subject: "table api_keys",
      problem: "It has no valid foreign key to accounts, so wrong rows are not rejected.",
      repair,
    },
    {
      subject: "table settings",
      problem: "It has no valid primary key, so wrong rows are not rejected.",
      repair,
    },
    { subject: "key gone.1", problem: "Its account does not exist.", repair: "Delete its row of api_keys." },
    {
      subject: "account half",
      problem: "It has only one of its two limits.",
      repair: "Run 'accounts set-plan half'.",
    },
  ]);
  await close();
});

test("orders are read in pages of a thousand, each once", async () => {
  const { check } = createPostgresStore({ pool: server.pool, schema: "pages" });
  await check();
  const { orders } = inspectPostgres(server.pool, "pages");
  for (const [last, sizes] of [
    [1_000, [1_000, 0]],
    [2_001, [1_000, 1_000, 1]],
  ] as const) {
    await server.database.exec(`INSERT INTO pages.orders (id, status, record, history)
      SELECT n, 'pending', '{"id":' || n || '}', 'p5;' FROM generate_series(1, ${last}) AS n ON CONFLICT DO NOTHING`);
    const pages = await collect(orders());
    expect(pages.map(({ length }) => length)).toEqual(sizes);
    expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(last);
    expect(pages[0]?.[0]).toEqual({ id: 1n, status: "pending", wire: '{"id":1}', changes: ["place"] });
  }
});
