import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { BUCKETS } from "../../lib/stores/dynamodb/schema.ts";
import type { Store } from "../../lib/stores/store.ts";
import { environmentFor } from "../support/dynamodb/emulator.ts";
import { reportFigures } from "./run.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const LISTS = 24;
const PAGE_SIZE = 500;
const PAGES = 2;
const ORDERS = BUCKETS * PAGES * PAGE_SIZE;
/** With this latency, 24 lists over 64 connections wait longer for one than the AWS client's connection timeout. */
const QUERY_MS = 300;

interface Input {
  readonly ExclusiveStartKey?: object;
  readonly ExpressionAttributeValues?: { readonly ":bucket"?: { readonly N: string } };
}

/** An engine with fixed content: queries take long, and other requests respond at once. */
const engine: Server = createServer(async (request, response) => {
  const input = JSON.parse(await text(request)) as Input;
  const operation = `${request.headers["x-amz-target"]}`.split(".").at(-1);
  if (operation === "Query") await sleep(QUERY_MS);
  response.setHeader("content-type", "application/x-amz-json-1.0");
  response.end(JSON.stringify(respond(operation, input)));
});

function respond(operation: string | undefined, input: Input): object {
  const pending = { id: { N: "1" }, status: { S: "pending" }, wire: { S: '{"id":1}' } };
  if (operation === "GetItem") return {};
  if (operation === "Scan") return { Items: [], LastEvaluatedKey: { id: { N: "0" } } };
  if (operation === "UpdateItem") return { Attributes: pending };
  const bucket = Number(input.ExpressionAttributeValues?.[":bucket"]?.N);
  const page = input.ExclusiveStartKey === undefined ? 0 : 1;
  const first = (bucket * PAGES + page) * PAGE_SIZE;
  const Items = Array.from({ length: PAGE_SIZE }, (_, index) => ({ wire: { S: `{"id":${first + index}}` } }));
  return { Items, ...(page === 0 ? { LastEvaluatedKey: { id: { N: "0" } } } : {}) };
}

beforeAll(() => once(engine.listen(0, "127.0.0.1"), "listening"));
afterAll(() => {
  engine.close();
  engine.closeAllConnections();
});

test(`${LISTS} concurrent lists are complete, and cancels neither fail nor wait for them`, async () => {
  Object.assign(process.env, environmentFor(`http://127.0.0.1:${(engine.address() as AddressInfo).port}`));
  const store = createDynamodbStore({ prefix: "lists" });
  await store.orders.apply(1n, "cancel", AT);

  let done = false;
  const lists = Promise.all(Array.from({ length: LISTS }, () => countListed(store))).finally(() => {
    done = true;
  });
  const waits: number[] = [];
  while (!done) {
    const startedAt = performance.now();
    expect((await store.orders.apply(1n, "cancel", AT)).ok).toBe(true);
    waits.push(performance.now() - startedAt);
    await sleep(10);
  }
  expect(await lists).toEqual(new Array(LISTS).fill(ORDERS));
  expect(Math.max(...waits)).toBeLessThan(1_000);
  await store.close();
  reportFigures("concurrent lists from DynamoDB", {
    "lists / orders in each": `${LISTS} / ${ORDERS}`,
    "cancels meanwhile": waits.length,
    "slowest cancel": `${Math.round(Math.max(...waits))} ms`,
  });
});

async function countListed({ orders }: Store): Promise<number> {
  let count = 0;
  for await (const { json } of orders.list()) count += json.split('"id"').length - 1;
  return count;
}
