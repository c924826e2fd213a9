import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { DEFAULT_BUCKETS, tableShapes } from "../../../lib/stores/dynamodb/layout.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { atMost, atMostFloor } from "../budgets.ts";
import type { Figure } from "../figures.ts";
import { ENTERPRISE, openAccount } from "../fixture.ts";
import type { Job } from "../job.ts";
import { download } from "../load/download.ts";
import { type Sample, spreadIn, takeTurns } from "../rounds.ts";
import { startChild } from "../servers/child.ts";
import { type EmulatedEngine, fillTables, startEngine } from "../servers/emulator.ts";
import { forgetPeak, memory, processorTime } from "../servers/process-cost.ts";
import { ours, start } from "../servers/server-process.ts";

const PREFIX = "bench";
/** Of an order as it is sent. */
const LEAST_BYTES = 90;

type Listing = Sample<"total" | "firstByte" | "memory" | "processor" | "engine">;

/** The list of many orders from DynamoDB, over its emulator. */
export const dynamodbList: Job = {
  id: "dynamodb-list",
  async run(bench) {
    const orders = bench.quick ? 10_000 : 1_000_000;
    const engine = await startEngine();
    try {
      bench.tell(`list from DynamoDB: placing ${orders} orders`);
      await fillTables(engine.endpoint, PREFIX, orders);
      const key = await keyFor(engine.endpoint);
      const samples = await takeTurns(["ours", "engine"], Math.min(bench.rounds, 3), async (name, round) => {
        bench.tell(`list from DynamoDB: round ${round + 1}, ${name}`);
        return name === "ours" ? listed(engine, key, orders) : queried(engine, orders);
      });
      const figure = (what: string, unit: string, name: keyof Listing): Figure => ({
        what,
        unit,
        better: "less",
        ours: spreadIn(samples, "ours", name),
      });
      const held = figure("memory above idle", "MiB", "memory");
      const bound = {
        ...figure("processor time, floor: the engine's", "ms", "processor"),
        floor: spreadIn(samples, "ours", "engine"),
      };
      return {
        title: `List of ${orders.toLocaleString("en-US")} from DynamoDB`,
        figures: [
          { ...figure("total", "ms", "total"), floor: spreadIn(samples, "engine", "total") },
          figure("first byte", "ms", "firstByte"),
          { ...held, verdict: atMost(96)(held) },
          { ...bound, verdict: atMostFloor(1)(bound) },
        ],
        notes: [
          "Over dynalite on the same machine, in memory. Its figures say nothing about AWS; what they show is on which side the time goes.",
          "Floor of the total: the same queries, all buckets at the same time, and their answers thrown away unread.",
          "The rows are bound by the engine where our process takes less processor time than the engine does.",
        ],
      };
    } finally {
      await engine.stop();
    }
  },
};

async function keyFor(endpoint: string): Promise<string> {
  const client = clientFor(endpoint);
  const key = await openAccount(createDynamodbStore({ prefix: PREFIX, client }), "shop", ENTERPRISE);
  client.destroy();
  return key;
}

async function listed(engine: EmulatedEngine, key: string, orders: number): Promise<Listing> {
  const server = await start(ours({ dynamodb: PREFIX, clockStep: 2 }, engine.environment));
  try {
    // Idle is a process that has answered before: the vendor's library is loaded and connected.
    await fetch(`${server.url}/v1/store/orders/1`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${key}` },
    });
    forgetPeak(server.pid);
    const idle = memory(server.pid).now;
    const before = [processorTime(server.pid), processorTime(engine.pid)] as const;
    const { total, firstByte, bytes } = await download(`${server.url}/v1/store/orders`, key);
    if (bytes < orders * LEAST_BYTES) throw new Error(`Only ${bytes} bytes came.`);
    return {
      total,
      firstByte,
      memory: memory(server.pid).peak - idle,
      processor: processorTime(server.pid) - before[0],
      engine: processorTime(engine.pid) - before[1],
    };
  } finally {
    await server.stop();
  }
}

async function queried({ endpoint }: EmulatedEngine, orders: number): Promise<Listing> {
  const { name } = tableShapes(PREFIX).orders;
  const child = startChild(new URL("../servers/query-all.ts", import.meta.url), [
    endpoint,
    name,
    `${DEFAULT_BUCKETS}`,
  ]);
  const { total, bytes } = await child.told<Sample<"total" | "bytes">>();
  await child.end();
  if (bytes < orders * LEAST_BYTES) throw new Error(`The engine gave only ${bytes} bytes.`);
  return { total, firstByte: NaN, memory: NaN, processor: NaN, engine: NaN };
}
