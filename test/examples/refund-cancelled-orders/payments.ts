import { DatabaseSync } from "node:sqlite";

/** Stands for a payment provider. Like a real one, it refunds once for each idempotency key, however often it is asked. */
export function openPayments(path: string) {
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE IF NOT EXISTS refunds (key TEXT PRIMARY KEY, order_id TEXT NOT NULL) STRICT");
  const insert = db.prepare("INSERT INTO refunds (key, order_id) VALUES (?, ?) ON CONFLICT DO NOTHING");
  return {
    refund: (orderId: bigint, idempotencyKey: string) => void insert.run(idempotencyKey, `${orderId}`),
    refunds: () => db.prepare("SELECT key, order_id AS orderId FROM refunds ORDER BY key").all(),
  };
}
