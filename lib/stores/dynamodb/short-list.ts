import { idOfWire } from "../../orders/wire.ts";
import { callTimeout } from "./client.ts";
import type { Item } from "./item.ts";
import type { Table } from "./table.ts";

/**
 * Returns a function that lists the records of a table with one read, in wire form and ascending, if they are at most
 * `maxOrders`. Otherwise it returns `undefined`, from then on without a read: orders are never deleted.
 */
export function createShortList(
  table: Table,
  maxOrders: number,
): () => Promise<readonly string[] | undefined> {
  // One more for the item that is not an order, and one more because a page that is full may not be the last one.
  const limit = maxOrders + 2;
  let isOutgrown = false;
  return async () => {
    if (isOutgrown) return undefined;
    const range = { projection: "#wire", limit };
    const { kept, next } = await table.scan(range, sortedWires, callTimeout());
    isOutgrown = next !== undefined;
    return isOutgrown ? undefined : kept;
  };
}

function sortedWires(items: readonly Item[]): readonly string[] {
  return items
    .flatMap(({ wire }) => (wire?.S === undefined ? [] : [{ wire: wire.S, id: idOfWire(wire.S) }]))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ wire }) => wire);
}
