import type { Item } from "../../../lib/stores/dynamodb/table.ts";
import { itemSize } from "./item-size.ts";

/** The size of a write unit, in bytes. */
const WRITE_UNIT = 1_024;

interface Capacity {
  readonly CapacityUnits: number;
}

/**
 * The capacity units in a response. A failed condition is billed like a write of the item, but an engine does not return
 * its units, so they are computed from the item.
 */
export function consumedUnits(body: Buffer): number {
  const response = JSON.parse(body.toString()) as {
    readonly __type?: string;
    readonly Item?: Item;
    readonly ConsumedCapacity?: Capacity | readonly Capacity[];
  };
  if (response.__type?.endsWith("ConditionalCheckFailedException")) {
    return Math.max(1, Math.ceil(itemSize(response.Item ?? {}) / WRITE_UNIT));
  }
  return [response.ConsumedCapacity ?? []].flat().reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0);
}
