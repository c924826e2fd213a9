import type { DatabaseSync } from "node:sqlite";
import type { StoredOrder } from "../../orders/lifecycle.ts";
import type { PlaceOutcome } from "../../orders/order-store.ts";
import { toWire } from "../../orders/wire.ts";
import { isConstraint } from "./errors.ts";

/** Rows of one statement. More of them save nothing. */
const ROWS = 50;

/** Creates a function that places orders, to be called in a transaction. */
export function orderPlacer(db: DatabaseSync): (orders: readonly StoredOrder[]) => readonly PlaceOutcome[] {
  const insert = db.prepare(
    "INSERT INTO orders (id, status, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const insertRows = db.prepare(
    `INSERT INTO orders (id, status, record) VALUES ${Array(ROWS).fill("(?, ?, ?)").join()}`,
  );
  const selectSame = db.prepare("SELECT 1 FROM orders WHERE id = ? AND status = ? AND record = ?");
  // An import runs this for every row. An object for each would fill V8's old space, about 100 bytes at a time.
  selectSame.setReturnArrays(true);

  function placeOne({ record, status }: StoredOrder): PlaceOutcome {
    const wire = toWire(record);
    if (insert.run(record.id, status, wire).changes === 1) return "placed";
    return selectSame.get(record.id, status, wire) === undefined ? "conflict" : "unchanged";
  }

  /** Places all of the orders, or none if one exists: SQLite undoes a statement that fails. */
  function placeNew(orders: readonly StoredOrder[]): boolean {
    const values: (bigint | string)[] = [];
    for (const { record, status } of orders) values.push(record.id, status, toWire(record));
    try {
      insertRows.run(...values);
      return true;
    } catch (error) {
      if (isConstraint(error)) return false;
      throw error;
    }
  }

  return (orders) => {
    const outcomes: PlaceOutcome[] = [];
    for (let start = 0; start < orders.length; start += ROWS) {
      const some = orders.slice(start, start + ROWS);
      const areNew = some.length === ROWS && placeNew(some);
      for (const order of some) outcomes.push(areNew ? "placed" : placeOne(order));
    }
    return outcomes;
  };
}
