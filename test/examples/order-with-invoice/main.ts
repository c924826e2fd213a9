/**
 * An order and its invoice are stored together, or not at all: both are in one transaction of the program. It needs
 * PostgreSQL: `DATABASE_URL=postgres://… npm start`.
 */
import { Pool, type PoolClient } from "pg";
import { createOrders } from "store-orders";
import { createPostgresStore } from "store-orders/postgres";

const { DATABASE_URL = "postgres://localhost/shop" } = process.env;
const pool = new Pool({ connectionString: DATABASE_URL, pipeline: true });
const store = createPostgresStore({ pool });
await store.check(); // creates the tables of an empty database
await pool.query(
  "CREATE TABLE IF NOT EXISTS invoices (order_id bigint PRIMARY KEY, cents int CHECK (cents > 0))",
);

/** Runs a task in a transaction. */
async function inTransaction<T>(task: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const result = await task(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

/** Places an order, and writes its invoice. */
async function sell(id: bigint, cents: number): Promise<string> {
  return inTransaction(async (client) => {
    const placed = await createOrders({ store: store.orders.using(client) }).place({ id, quantity: 1 });
    if (!placed.ok) return placed.code;
    await client.query("INSERT INTO invoices (order_id, cents) VALUES ($1, $2)", [`${id}`, cents]);
    return "sold";
  });
}

/** Cancels an order that has not been shipped, and deletes its invoice. */
async function refund(id: bigint): Promise<string> {
  return inTransaction(async (client) => {
    const cancelled = await createOrders({ store: store.orders.using(client) }).cancel(id);
    if (!cancelled.ok) return cancelled.code;
    await client.query("DELETE FROM invoices WHERE order_id = $1", [`${id}`]);
    return "refunded";
  });
}

async function report(what: string, result: Promise<string>): Promise<void> {
  const outcome = await result.catch((error: Error) => error.message);
  const { orders } = await store.orders.page({ limit: 10 });
  const { rows } = await pool.query("SELECT order_id FROM invoices ORDER BY order_id");
  const stored = orders.map(({ record, status }) => `${record.id} ${status}`).join(", ") || "none";
  const invoices = rows.map((row) => row.order_id).join(", ") || "none";
  process.stdout.write(`${what}: ${outcome}; orders: ${stored}; invoices: ${invoices}\n`);
}

await report("sell 1", sell(1n, 4200));
await report("sell 2 for nothing", sell(2n, 0));
await report("refund 1", refund(1n));
await report("refund 1 again", refund(1n));
await store.close();
await pool.end();
