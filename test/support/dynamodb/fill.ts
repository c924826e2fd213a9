import { BatchWriteItemCommand, type DynamoDBClient, type WriteRequest } from "@aws-sdk/client-dynamodb";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import { orderToJson } from "../../../lib/orders/wire.ts";
import { orderKey, tableDefinitions } from "../../../lib/stores/dynamodb/schema.ts";

/**
 * Fills an emulator's table directly, 25 items per request, because the conditional writes of the store are slow there.
 * An emulator never returns unprocessed items.
 */
export async function fillOrders(
  client: DynamoDBClient,
  prefix: string,
  count: number,
  orderAt: (index: number) => StoredOrder,
): Promise<void> {
  const { orders } = tableDefinitions({ prefix });
  const request = (index: number): WriteRequest => {
    const { record, status } = orderAt(index);
    return {
      PutRequest: {
        Item: { ...orderKey(record.id), status: { S: status }, wire: { S: orderToJson(record) } },
      },
    };
  };
  const starts = Array.from({ length: Math.ceil(count / 25) }, (_, batch) => batch * 25).values();
  const write = async () => {
    for (const from of starts) {
      const length = Math.min(25, count - from);
      const batch = Array.from({ length }, (_, row) => request(from + row));
      await client.send(new BatchWriteItemCommand({ RequestItems: { [orders.name]: batch } }));
    }
  };
  await Promise.all(Array.from({ length: 20 }, write));
}
