import { fork } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import type { StoredOrder } from "../../lib/orders/lifecycle.ts";
import { createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { DEFAULT_BUCKETS } from "../../lib/stores/dynamodb/schema.ts";
import { EMULATED } from "../support/dynamodb/emulator.ts";
import { fillOrders } from "../support/dynamodb/fill.ts";
import { useEmulator } from "../support/dynamodb/use-emulator.ts";
import type { Listing } from "./dynamodb-list-process.ts";

const COUNT = 200_000;

const emulator = useEmulator();

function orderAt(index: number): StoredOrder {
  const id = BigInt(index) * 7n - 350_000n;
  const record = { id, petId: id * 3n, quantity: 2, shipDate: "2026-11-20T09:30:00Z", complete: false };
  return { record, status: "pending" };
}

test(`${COUNT} orders are listed ascending and complete, in bounded memory, from the first page on`, async () => {
  await createDynamodbTables({ prefix: "many", client: emulator.client });
  await fillOrders(emulator.client, { prefix: "many", buckets: DEFAULT_BUCKETS }, COUNT, orderAt);
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
