import { beforeAll, describe, expect, test } from "vitest";
import type { Report } from "../../../lib/stores/check.ts";
import { createPostgresStore } from "../../../lib/stores/postgres/index.ts";
import { inspectPostgres } from "../../../lib/stores/postgres/inspect.ts";
import { type Pglite, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
});

test("missing keys of tables, a key without its account, half of the limits and an unlogged table are reported, with their repair", async () => {
  const { accounts } = createPostgresStore({ pool: server.pool, schema: "damaged" });
  for (const id of ["gone", "half"])
    await accounts.create({ id, plan: "free", keys: [{ id: `${id}.1`, hash: id, createdAt: 0 }] });
  const { inspect, close } = inspectPostgres(server.pool, "damaged");
  const inspected = async () => {
    const found: unknown[] = [];
    expect(await inspect((...finding) => found.push(finding))).toBe(true);
    return found;
  };
  expect(await inspected()).toEqual([]);
  await server.database.exec(`SET search_path = damaged;
    ALTER TABLE api_keys DROP CONSTRAINT api_keys_account_fkey;
    ALTER TABLE settings DROP CONSTRAINT settings_pkey;
    UPDATE accounts SET per_day = 1 WHERE id = 'half';
    DELETE FROM accounts WHERE id = 'gone'; ALTER TABLE outbox SET UNLOGGED; RESET search_path`);
  const repair = "Add it as 'database migrate --print' prints it, once no row breaks it.";
  const log = `Run 'ALTER TABLE "damaged".outbox SET LOGGED'.`;
  expect(await inspected()).toEqual([
    ["table outbox", "It is UNLOGGED: a crash empties it.", log],
    ["table settings", "It has no valid primary key, so that a row can exist twice.", repair],
    [
      "table api_keys",
      "It has no valid foreign key to accounts, so that a key can be without an account.",
      repair,
    ],
    ["key gone.1", "Its account does not exist.", "Delete its row of api_keys."],
    ["account half", "It has only one of its two limits.", "Run 'accounts set-plan half'."],
  ]);
  await close();
});

describe("what the catalogue says", () => {
  const MIGRATE = "as 'database migrate --print' prints it";
  const ON = "Run 'database outbox on' as the owner of the tables.";

  /** Opens a schema whose outbox is on. Returns the findings about it, and whether the rows were read. */
  async function openSchema(schema: string) {
    const store = createPostgresStore({ pool: server.pool, schema });
    await store.outbox?.switch(true);
    const { inspect } = inspectPostgres(server.pool, schema);
    return {
      store,
      /** The findings as lines. The rows are read, unless `isRead` is false. */
      async inspected({ isRead = true } = {}) {
        const findings: string[] = [];
        const report: Report = (subject, problem, repair) =>
          findings.push(`${subject}: ${problem} ${repair}`);
        expect(await inspect(report)).toBe(isRead);
        return findings;
      },
    };
  }

  test.each([
    "DROP FUNCTION x.add_to_outbox() CASCADE",
    "ALTER FUNCTION x.add_to_outbox() RESET search_path",
    `CREATE OR REPLACE FUNCTION x.add_to_outbox() RETURNS trigger LANGUAGE plpgsql AS
     $$BEGIN INSERT INTO "y".outbox (id) SELECT 1; RETURN NULL; END$$`,
  ])("%s is found", async (sql) => {
    const { inspected } = await openSchema("x");
    expect(await inspected()).toEqual([]);
    await server.database.exec(sql);
    expect(await inspected()).toEqual([
      "function add_to_outbox: It is missing, or not that of this version: changes can be lost, or get into another " +
        `schema. Replace it ${MIGRATE}.`,
    ]);
    await server.database.exec("DROP SCHEMA x CASCADE");
  });

  test("a trigger that is missing, disabled, for some sessions only or that calls another function is found, and 'outbox on' repairs it", async () => {
    const { inspected, store } = await openSchema("triggers");
    const { database } = server;
    const other = "other.lose";
    await database.exec(`CREATE SCHEMA other;
      CREATE FUNCTION ${other}() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$`);
    for (const sql of [
      "DROP TRIGGER outbox_placed ON triggers.orders",
      "ALTER TABLE triggers.orders DISABLE TRIGGER outbox_placed",
      "ALTER TABLE triggers.orders ENABLE TRIGGER outbox_placed",
      `CREATE OR REPLACE TRIGGER outbox_placed AFTER INSERT ON triggers.orders FOR EACH STATEMENT EXECUTE FUNCTION ${other}();
       ALTER TABLE triggers.orders ENABLE ALWAYS TRIGGER outbox_placed`,
    ]) {
      await database.exec(sql);
      expect(await inspected(), sql).toEqual([
        "triggers outbox_placed and outbox_changed: One is missing, not enabled in every session, or calls another " +
          `function, so changes are lost. ${ON}`,
      ]);
      expect(await store.outbox?.isOn(), sql).toBe(false);
      await store.outbox?.switch(true);
      expect(await store.outbox?.isOn()).toBe(true);
      expect(await inspected()).toEqual([]);
    }
    await store.outbox?.switch(false);
    expect(await inspected()).toEqual([]);
  });

  test("a missing unique index on the hash of keys is found", async () => {
    const { inspected } = await openSchema("unindexed");
    for (const [unique, columns] of [
      ["", "(hash)"],
      ["UNIQUE", "(hash) WHERE hash <> ''"],
      ["UNIQUE", "(hash, id)"],
    ]) {
      await server.database.exec(`DROP INDEX unindexed.api_keys_hash;
        CREATE ${unique} INDEX api_keys_hash ON unindexed.api_keys ${columns}`);
      expect(await inspected()).toEqual([
        "table api_keys: It has no valid unique index on hash, so that two accounts can have the same key. " +
          `Add it ${MIGRATE}, once no row breaks it.`,
      ]);
    }
  });

  test("tables whose rows a policy can hide, or which the role may not read, are found, and no row is read", async () => {
    const { database } = server;
    const { inspected, store } = await openSchema("hidden");
    await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
    await database.exec(`CREATE ROLE reader; GRANT USAGE ON SCHEMA hidden TO reader;
      GRANT SELECT ON ALL TABLES IN SCHEMA hidden TO reader; REVOKE SELECT ON hidden.accounts FROM reader`);
    for (const table of ["settings", "orders"])
      await database.exec(`ALTER TABLE hidden.${table} ENABLE ROW LEVEL SECURITY`);
    // Its owner sees every row.
    expect(await inspected()).toEqual([]);
    await database.exec("SET ROLE reader");
    const found = await inspected({ isRead: false }).finally(() => database.exec("RESET ROLE"));
    const secured = (table: string) =>
      expect.stringMatching(
        `^table ${table}: .*a policy can hide rows.*'ALTER TABLE "hidden"\\.${table} DISABLE ROW LEVEL SECURITY'`,
      );
    expect(found).toEqual([
      expect.stringMatching(/^table accounts: This role may not read it\. .*GRANT SELECT/),
      ...[secured("orders"), secured("settings")],
    ]);
  });
});
