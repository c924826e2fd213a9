import { BatchWriteItemCommand, type WriteRequest } from "@aws-sdk/client-dynamodb";
import { orderToJson } from "../../../lib/orders/wire.ts";
import { createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { bucketOf, DEFAULT_BUCKETS, tableDefinitions } from "../../../lib/stores/dynamodb/schema.ts";
import { clientFor, EMULATED } from "../../support/dynamodb/emulator.ts";
import { orderAt } from "../fixture.ts";
import { startChild } from "./child.ts";

/** A DynamoDB emulator in its own process, in memory. */
export interface EmulatedEngine {
  readonly endpoint: string;
  readonly pid: number;
  /** The environment variables of a process that uses it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Starts dynalite, which returns the old item of a failed condition, as AWS does. */
export async function startEngine(): Promise<EmulatedEngine> {
  const program = new URL("../../support/dynamodb/emulator-process.ts", import.meta.url);
  const child = startChild(program, ["all-old"]);
  const port = await child.nextMessage<number>();
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

/** Creates the tables and fills them without the store, whose conditional writes would take longer. */
export async function fillTables(endpoint: string, prefix: string, orders: number): Promise<void> {
  const client = clientFor(endpoint);
  await createDynamodbTables({ prefix, client });
  const { name } = tableDefinitions({ prefix }).orders;
  for (let from = 0; from < orders; from += CONCURRENCY * BATCH) {
    const batches = Array.from({ length: CONCURRENCY }, (_, batch) =>
      Array.from({ length: BATCH }, (_, row) => from + batch * BATCH + row).filter((index) => index < orders),
    );
    const filled = batches.filter((batch) => batch.length > 0);
    await Promise.all(
      filled.map((batch) =>
        client.send(new BatchWriteItemCommand({ RequestItems: { [name]: batch.map(putRequest) } })),
      ),
    );
  }
  client.destroy();
}

const BATCH = 25;
const CONCURRENCY = 20;

function putRequest(index: number): WriteRequest {
  const { record, status } = orderAt(index);
  const { id } = record;
  const key = { bucket: { N: `${bucketOf(id, DEFAULT_BUCKETS)}` }, id: { N: `${id}` } };
  return { PutRequest: { Item: { ...key, status: { S: status }, wire: { S: orderToJson(record) } } } };
}
