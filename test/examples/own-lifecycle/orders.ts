/** The orders of the shop, in a table of its own: a UUID, a customer, and what was bought. */
import { Pool, type PoolClient } from "pg";
import { type Event, lifecycle, type Status } from "./lifecycle.ts";

const { DATABASE_URL = "postgres://localhost/shop" } = process.env;
export const pool = new Pool({ connectionString: DATABASE_URL });

await pool.query(`
  CREATE TABLE IF NOT EXISTS shop_orders (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), customer text NOT NULL, items text[] NOT NULL, status text NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE TABLE IF NOT EXISTS shop_changes (
    number bigserial PRIMARY KEY, id uuid NOT NULL REFERENCES shop_orders, event text NOT NULL, refund boolean);`);

export interface ShopOrder {
  readonly id: string;
  readonly items: readonly string[];
  readonly status: Status;
}

const COLUMNS = "id, items, status";

/** Places an order of a customer. */
export async function place(customer: string, items: readonly string[]): Promise<ShopOrder> {
  const { rows } = await pool.query(
    `INSERT INTO shop_orders (customer, items, status) VALUES ($1, $2, 'new') RETURNING ${COLUMNS}`,
    [customer, items],
  );
  return rows[0];
}

/** The orders of a customer, who sees no other. */
export async function ordersOf(customer: string): Promise<readonly ShopOrder[]> {
  const { rows } = await pool.query(
    `SELECT ${COLUMNS} FROM shop_orders WHERE customer = $1 ORDER BY placed_at`,
    [customer],
  );
  return rows;
}

/** Applies an event to an order of a customer. The new status and the change are stored together, or not at all. */
export async function apply<E extends Event>(customer: string, id: string, event: E) {
  return inTransaction(async (client) => {
    const { rows } = await client.query<{ status: Status }>(
      "SELECT status FROM shop_orders WHERE id = $1 AND customer = $2 FOR UPDATE",
      [id, customer],
    );
    const [order] = rows;
    if (order === undefined) return { ok: false, code: "order_not_found" } as const;
    const result = lifecycle.transition(order.status, event);
    if (!result.ok) return result;
    const refund = "refund" in result ? result.refund : null;
    await client.query("UPDATE shop_orders SET status = $2 WHERE id = $1", [id, result.to]);
    await client.query("INSERT INTO shop_changes (id, event, refund) VALUES ($1, $2, $3)", [
      id,
      event,
      refund,
    ]);
    return result;
  });
}

export interface ShopChange {
  readonly id: string;
  readonly event: Event;
  readonly refund: boolean | null;
}

/**
 * Delivers the oldest change that waits, and returns false if none does. It is deleted once `deliver` has resolved: at
 * least once, and those of one order as they happened. Any number of processes can ask; one at a time delivers.
 */
export async function deliverNext(deliver: (change: ShopChange) => Promise<void>): Promise<boolean> {
  return inTransaction(async (client) => {
    const { rows } = await client.query("SELECT * FROM shop_changes ORDER BY number LIMIT 1 FOR UPDATE");
    if (rows.length === 0) return false;
    await deliver(rows[0]);
    await client.query("DELETE FROM shop_changes WHERE number = $1", [rows[0].number]);
    return true;
  });
}

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
