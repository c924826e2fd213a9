import { BatchWriteItemCommand, type WriteRequest } from "@aws-sdk/client-dynamodb";
import { toWire } from "../../../lib/orders/wire.ts";
import { createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { bucketOf, DEFAULT_BUCKETS, tableShapes } from "../../../lib/stores/dynamodb/layout.ts";
import { clientFor, EMULATED } from "../../support/dynamodb/emulator.ts";
import { orderAt } from "../fixture.ts";
import { startChild } from "./child.ts";

/** DynamoDB's emulator in a process of its own, in memory. */
export interface EmulatedEngine {
  readonly endpoint: string;
  readonly pid: number;
  /** What a process has to find in its environment to reach it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Starts dynalite, which answers a failed condition with the old item as AWS does. */
export async function startEngine(): Promise<EmulatedEngine> {
  const program = new URL("../../support/dynamodb/emulator-process.ts", import.meta.url);
  const child = startChild(program, ["all-old"]);
  const port = await child.told<number>();
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    endpoint,
    pid: child.pid,
    environment: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: EMULATED.region,
      AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
    },
    stop: child.kill,
  };
}

/** Makes the tables and fills them around the store, 25 orders a call; its own conditional writes take longer. */
export async function fillTables(endpoint: string, prefix: string, orders: number): Promise<void> {
  const client = clientFor(endpoint);
  await createDynamodbTables({ prefix, client });
  const { name } = tableShapes(prefix).orders;
  for (let from = 0; from < orders; from += AT_A_TIME * BATCH) {
    const batches = Array.from({ length: AT_A_TIME }, (_, batch) =>
      Array.from({ length: BATCH }, (_, row) => from + batch * BATCH + row).filter((index) => index < orders),
    );
    const filled = batches.filter((batch) => batch.length > 0);
    await Promise.all(
      filled.map((batch) =>
        client.send(new BatchWriteItemCommand({ RequestItems: { [name]: batch.map(placing) } })),
      ),
    );
  }
  client.destroy();
}

const BATCH = 25;
const AT_A_TIME = 20;

function placing(index: number): WriteRequest {
  const { record, status } = orderAt(index);
  const { id } = record;
  const key = { bucket: { N: `${bucketOf(id, DEFAULT_BUCKETS)}` }, id: { N: `${id}` } };
  return { PutRequest: { Item: { ...key, status: { S: status }, wire: { S: toWire(record) } } } };
}
