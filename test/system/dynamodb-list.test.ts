import { fork } from "node:child_process";
import { once } from "node:events";
import { BatchWriteItemCommand, type DynamoDBClient, type WriteRequest } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toWire } from "../../lib/orders/order.ts";
import { createDynamodbTables } from "../../lib/stores/dynamodb.ts";
import { bucketOf, DEFAULT_BUCKETS, tableShapes } from "../../lib/stores/dynamodb-tables.ts";
import { clientFor, EMULATED, type Emulator, startEmulator } from "../stores/dynamodb/emulator.ts";
import type { Listing } from "./dynamodb-list-process.ts";

const COUNT = 200_000;

let emulator: Emulator;
let client: DynamoDBClient;
beforeAll(async () => {
  emulator = await startEmulator("all-old");
  client = clientFor(emulator.endpoint);
});
afterAll(async () => {
  client.destroy();
  await emulator.stop();
});

/** Fills the table around the store, 25 items a call: the store's own conditional writes would take minutes here. */
async function fill(prefix: string): Promise<void> {
  const { orders } = tableShapes(prefix);
  const request = (index: number): WriteRequest => {
    const id = BigInt(index) * 7n - 350_000n;
    const wire = toWire({
      id,
      petId: id * 3n,
      quantity: 2,
      shipDate: "2026-11-20T09:30:00Z",
      complete: false,
    });
    return {
      PutRequest: {
        Item: {
          bucket: { N: String(bucketOf(id, DEFAULT_BUCKETS)) },
          id: { N: String(id) },
          status: { S: "pending" },
          wire: { S: wire },
        },
      },
    };
  };
  for (let from = 0; from < COUNT; from += 500) {
    const batches = Array.from({ length: 20 }, (_, batch) =>
      Array.from({ length: 25 }, (_, row) => request(from + batch * 25 + row)),
    );
    await Promise.all(
      batches.map((batch) =>
        client.send(new BatchWriteItemCommand({ RequestItems: { [orders.name]: batch } })),
      ),
    );
  }
}

test(`${COUNT} orders are listed ascending and complete, in bounded memory, from the first page on`, async () => {
  await createDynamodbTables({ prefix: "many", client });
  await fill("many");
  const environment = {
    AWS_ENDPOINT_URL: emulator.endpoint,
    AWS_REGION: EMULATED.region,
    AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
  };
  const lister = fork(new URL("dynamodb-list-process.ts", import.meta.url), ["many"], {
    env: { ...process.env, ...environment },
  });
  const [listing] = (await once(lister, "message")) as [Listing];
  process.stderr.write(`${JSON.stringify(listing)}\n`);
  expect(listing).toMatchObject({ count: COUNT, ascending: true, lastPages: 1 });
  expect(listing.largestPage).toBeLessThanOrEqual(64 * 1024);
  expect(listing.peakMiB - listing.idleMiB).toBeLessThanOrEqual(96);
  expect(listing.firstPageMs).toBeLessThan(listing.totalMs / 3);
});
