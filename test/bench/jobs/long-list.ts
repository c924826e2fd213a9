import { join } from "node:path";
import { atMost, atMostFloor } from "../budgets.ts";
import type { Figure, Spread } from "../figures.ts";
import { FIRST_ID, makeShop } from "../fixture.ts";
import type { Job } from "../job.ts";
import { download } from "../load/download.ts";
import { measureConcurrentLatency } from "../load/latency-probe.ts";
import { type Sample, spreadIn, spreadsIn, takeTurns } from "../rounds.ts";
import { CEILING, contendersFor } from "../servers/candidates.ts";
import { startChild } from "../servers/child.ts";
import { compiled } from "../servers/compiled.ts";
import { forgetPeak, memory, processorTime } from "../servers/process-cost.ts";
import { PEERS, type Program, start } from "../servers/server-process.ts";

const PATH = "/v1/store/orders";
const SQLITE = "SQLite alone";
const COMPILED = "ours, compiled";
/** Of an order as it is sent. */
const LEAST_BYTES = 90;

type LongList = Sample<"total" | "processor" | "firstByte" | "peak" | "wait">;

/** The list of a million orders from SQLite. */
export const longList: Job = {
  id: "long-list",
  async run(bench) {
    const orders = bench.quick ? 100_000 : 1_000_000;
    const shop = await makeShop(join(bench.folder, "long"), orders);
    const key = shop.keys[0] ?? "";
    const options = { clockStep: 2 };
    const programs: Readonly<Record<string, Program>> = {
      ...contendersFor(shop, options),
      [COMPILED]: await compiled(bench.folder, { ...options, database: shop.ours }),
    };
    const rounds = Math.min(bench.rounds, 3);
    const samples = await takeTurns([...Object.keys(programs), SQLITE], rounds, async (name, round) => {
      bench.tell(`long list: round ${round + 1} of ${rounds}, ${name}`);
      const program = programs[name];
      return program === undefined ? concatenated(shop.ours, orders) : listed(program, key, orders);
    });

    const figure = (what: string, unit: string, name: keyof LongList, floor?: Spread): Figure => ({
      what,
      unit,
      better: "less",
      ours: spreadIn(samples, "ours", name),
      peers: spreadsIn(samples, PEERS, name),
      ...(floor === undefined ? {} : { floor }),
      besides: spreadsIn(samples, [COMPILED, CEILING], name),
    });
    const alone = figure("total, floor: SQLite alone", "ms", "total", spreadIn(samples, SQLITE, "total"));
    const sent = figure(
      `total, floor: ${CEILING} around it`,
      "ms",
      "total",
      spreadIn(samples, CEILING, "total"),
    );
    const processor = figure("processor time", "ms", "processor", spreadIn(samples, SQLITE, "processor"));
    const firstByte = figure("first byte", "ms", "firstByte");
    const peak = figure("peak memory", "MiB", "peak");
    const wait = figure("worst wait of another request", "ms", "wait");
    return {
      title: `List of ${orders.toLocaleString("en-US")} from SQLite`,
      figures: [
        { ...alone, verdict: atMostFloor(1.3)(alone) },
        { ...sent, verdict: atMostFloor(1.3)(sent) },
        processor,
        { ...firstByte, verdict: atMost(20)(firstByte) },
        { ...peak, verdict: atMost(110)(peak) },
        { ...wait, verdict: atMost(25)(wait) },
      ],
      notes: [
        "Each time a fresh process and its first request. Peak memory is VmHWM after `clear_refs`, so it is of the request alone.",
        `\`ours\` runs from the TypeScript sources, as \`npm start\` does; \`${COMPILED}\` is the same as plain JavaScript, as the package is shipped. Only the former is judged.`,
        "The wait is of small requests, a millisecond apart, from a third process during a second download.",
        `The total is held against two floors. ${SQLITE} joins the same rows in pages of 500 in a fresh process that sends them to nobody; \`${CEILING}\` sends them as they are joined, and lets nobody else have a turn meanwhile. Sending a million orders takes ${CEILING} longer than joining them does, so no server comes near the first.`,
      ],
    };
  },
};

async function listed(program: Program, key: string, orders: number): Promise<LongList> {
  const { firstByte, total, bytes, processor, peak } = await withServer(program, async ({ url, pid }) => {
    forgetPeak(pid);
    const before = processorTime(pid);
    const taken = await download(url + PATH, key);
    return { ...taken, processor: processorTime(pid) - before, peak: memory(pid).peak };
  });
  if (bytes < orders * LEAST_BYTES) throw new Error(`Only ${bytes} bytes came.`);
  const waits = await withServer(program, ({ url }) =>
    measureConcurrentLatency(url, key, () => download(url + PATH, key)),
  );
  return { firstByte, total, processor, peak, wait: waits.longest };
}

async function withServer<T>(
  program: Program,
  work: (server: { readonly url: string; readonly pid: number }) => Promise<T>,
): Promise<T> {
  const server = await start(program);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

async function concatenated(database: string, orders: number): Promise<LongList> {
  const file = new URL("../servers/concatenate.ts", import.meta.url);
  const child = startChild(file, [database, `${FIRST_ID + 1}`, `${orders}`]);
  const { total, processor, length } = await child.told<Sample<"total" | "processor" | "length">>();
  await child.end();
  if (length < orders * LEAST_BYTES) throw new Error(`Only ${length} characters were joined.`);
  return { total, processor, firstByte: NaN, peak: NaN, wait: NaN };
}
