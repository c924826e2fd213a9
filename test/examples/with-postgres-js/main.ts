/**
 * A store over postgres.js instead of `pg`. The contract suite of store-orders tests it in the database that DATABASE_URL
 * names, with a schema for each case. Like any driver that sends one statement after another, it takes more round trips.
 */
import { storeContract } from "store-orders/contract";
import { createPostgresStore } from "store-orders/postgres";
import { createPool } from "./pool.ts";

const { DATABASE_URL = "postgres://localhost/shop" } = process.env;
const { sql, pool } = createPool(DATABASE_URL);
let [failed, skipped] = [0, 0];
for (const [index, { name, check }] of storeContract.entries()) {
  const schema = `case_${index}`;
  const open = () => createPostgresStore({ pool, schema });
  const damage = async (id: bigint, part: "record" | "history") => {
    await sql`UPDATE ${sql(schema)}.orders SET ${sql({ [part]: "?;" })} WHERE id = ${`${id}`}`;
  };
  try {
    const reason = await check(open(), { openAnother: open, damage });
    if (reason !== undefined) skipped += 1;
  } catch (error) {
    failed += 1;
    process.stdout.write(`failed: ${name}\n${error instanceof Error ? error.message : error}\n`);
  }
  await sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE`;
}
await sql.end();
const passed = storeContract.length - failed - skipped;
process.stdout.write(`passed: ${passed}, failed: ${failed}, skipped: ${skipped}\n`);
process.exitCode = failed === 0 ? 0 : 1;
