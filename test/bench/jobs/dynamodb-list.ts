import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { DEFAULT_BUCKETS, tableDefinitions } from "../../../lib/stores/dynamodb/schema.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { atMost, atMostBaseline } from "../budgets.ts";
import type { Figure } from "../figures.ts";
import { createAccountWithKey, ENTERPRISE } from "../fixture.ts";
import type { Job } from "../job.ts";
import { download } from "../load/download.ts";
import { distributionIn, runInTurns, type Sample } from "../rounds.ts";
import { startChild } from "../servers/child.ts";
import { type EmulatedEngine, fillTables, startEngine } from "../servers/emulator.ts";
import { memory, processorTime, resetPeak } from "../servers/process-cost.ts";
import { ours, start } from "../servers/server-process.ts";

const PREFIX = "bench";
/** The least size of an order on the wire. */
const MIN_BYTES_PER_ORDER = 90;

type Listing = Sample<"total" | "firstByte" | "memory" | "processor" | "engine">;

/** The list of many orders from DynamoDB, over its emulator. */
export const dynamodbList: Job = {
  id: "dynamodb-list",
  async run(bench) {
    const orders = bench.quick ? 10_000 : 1_000_000;
    const engine = await startEngine();
    try {
      bench.log(`list from DynamoDB: placing ${orders} orders`);
      await fillTables(engine.endpoint, PREFIX, orders);
      const key = await createKey(engine.endpoint);
      const samples = await runInTurns(["ours", "engine"], Math.min(bench.rounds, 3), async (name, round) => {
        bench.log(`list from DynamoDB: round ${round + 1}, ${name}`);
        return name === "ours" ? runList(engine, key, orders) : runQueries(engine, orders);
      });
      const figure = (label: string, unit: string, name: keyof Listing): Figure => ({
        name: label,
        unit,
        better: "less",
        ours: distributionIn(samples, "ours", name),
      });
      const memoryAboveIdle = figure("memory above idle", "MiB", "memory");
      const processor = {
        ...figure("processor time, baseline: the engine's", "ms", "processor"),
        baseline: distributionIn(samples, "ours", "engine"),
      };
      return {
        title: `List of ${orders.toLocaleString("en-US")} from DynamoDB`,
        figures: [
          { ...figure("total", "ms", "total"), baseline: distributionIn(samples, "engine", "total") },
          figure("first byte", "ms", "firstByte"),
          { ...memoryAboveIdle, verdict: atMost(96)(memoryAboveIdle) },
          { ...processor, verdict: atMostBaseline(1)(processor) },
        ],
        notes: [
          "Over dynalite on the same machine, in memory. Its figures say nothing about AWS; they show which side takes the time.",
          "Baseline of the total: the same queries, all buckets concurrently, with discarded responses.",
          "The engine is the bottleneck if our process takes less processor time than the engine.",
        ],
      };
    } finally {
      await engine.stop();
    }
  },
};

async function createKey(endpoint: string): Promise<string> {
  const client = clientFor(endpoint);
  const key = await createAccountWithKey(createDynamodbStore({ prefix: PREFIX, client }), "shop", ENTERPRISE);
  client.destroy();
  return key;
}

async function runList(engine: EmulatedEngine, key: string, orders: number): Promise<Listing> {
  const server = await start(ours({ dynamodb: PREFIX, clockStep: 2 }, engine.environment));
  try {
    // Idle means after a first response: the vendor's library is loaded and connected.
    await fetch(`${server.url}/v1/store/orders/1`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${key}` },
    });
    resetPeak(server.pid);
    const idle = memory(server.pid).now;
    const before = [processorTime(server.pid), processorTime(engine.pid)] as const;
    const { total, firstByte, bytes } = await download(`${server.url}/v1/store/orders`, key);
    if (bytes < orders * MIN_BYTES_PER_ORDER) throw new Error(`Only ${bytes} bytes were received.`);
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

async function runQueries({ endpoint }: EmulatedEngine, orders: number): Promise<Listing> {
  const { name } = tableDefinitions({ prefix: PREFIX }).orders;
  const child = startChild(new URL("../servers/query-all.ts", import.meta.url), [
    endpoint,
    name,
    `${DEFAULT_BUCKETS}`,
  ]);
  const { total, bytes } = await child.nextMessage<Sample<"total" | "bytes">>();
  await child.end();
  if (bytes < orders * MIN_BYTES_PER_ORDER) throw new Error(`The engine sent only ${bytes} bytes.`);
  return { total, firstByte: NaN, memory: NaN, processor: NaN, engine: NaN };
}
