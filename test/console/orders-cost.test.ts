import { expect, test } from "vitest";
import { explainCountCost, MAX_ITEM_BYTES, readUnitsOfCount } from "../../lib/console/orders/count-cost.ts";
import { toWire } from "../../lib/orders/wire.ts";
import { newWriteToken } from "../../lib/stores/dynamodb/write-token.ts";
import { itemSize } from "../support/dynamodb/item-size.ts";

const MIN = -(2n ** 63n) + 1n;

test("no order is larger than the size that the cost is computed from", () => {
  const shipDate = "2026-12-01T09:00:00.123456789+01:00";
  const record = { id: MIN, petId: MIN, quantity: 2_147_483_647, shipDate, complete: false };
  const size = itemSize({
    bucket: { N: "15" },
    id: { N: `${MIN}` },
    status: { S: "cancelled" },
    wire: { S: toWire(record) },
    shipMark: { S: newWriteToken() },
    fulfilMark: { S: newWriteToken() },
    cancelMark: { S: newWriteToken() },
  });
  expect(size).toBeGreaterThan(MAX_ITEM_BYTES / 2);
  expect(size).toBeLessThanOrEqual(MAX_ITEM_BYTES);
});

test.each([
  [0, 0],
  [1, 1],
  [16, 1],
  [17, 2],
  [1_000_000, 62_500],
])("counting %d orders takes at most %d read units", (orders, units) => {
  expect(readUnitsOfCount(orders)).toBe(units);
});

test("the cost is that of the last count, and before it of a million orders", () => {
  expect(explainCountCost(undefined)).toContain("at most 62,500 read units for a million orders");
  expect(explainCountCost(34)).toContain("at most 3 read units for the 34 of the last count");
});
