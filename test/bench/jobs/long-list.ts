import { join } from "node:path";
import { atMost, atMostBaseline } from "../budgets.ts";
import type { Distribution, Figure } from "../figures.ts";
import { createBenchDatabases, FIRST_ID } from "../fixture.ts";
import type { Job } from "../job.ts";
import { download } from "../load/download.ts";
import { measureConcurrentLatency } from "../load/latency-probe.ts";
import { distributionIn, distributionsIn, runInTurns, type Sample } from "../rounds.ts";
import { BASELINE, createCandidates } from "../servers/candidates.ts";
import { startChild } from "../servers/child.ts";
import { compileOurs } from "../servers/compiled.ts";
import { memory, processorTime, resetPeak } from "../servers/process-cost.ts";
import { bare, PEERS, type Program, start } from "../servers/server-process.ts";

const PATH = "/v1/store/orders";
const SQLITE = "SQLite alone";
/** Bare `node:http` on the database of the peers: SQLite builds the JSON of each page from columns. */
const PAGE_SQL = "page-sql";
const COMPILED = "ours, compiled";
/** The least size of an order on the wire. */
const MIN_BYTES_PER_ORDER = 90;

type LongList = Sample<"total" | "processor" | "firstByte" | "peak" | "latency">;

/** The list of a million orders from SQLite. */
export const longList: Job = {
  id: "long-list",
  async run(bench) {
    const orders = bench.quick ? 100_000 : 1_000_000;
    const databases = await createBenchDatabases(join(bench.folder, "long"), orders);
    const key = databases.keys[0] ?? "";
    const options = { clockStep: 2 };
    const programs: Readonly<Record<string, Program>> = {
      ...createCandidates(databases, options),
      [PAGE_SQL]: bare(databases.peers, "columns"),
      [COMPILED]: await compileOurs(bench.folder, { ...options, database: databases.ours }),
    };
    const { rounds } = bench;
    const samples = await runInTurns([...Object.keys(programs), SQLITE], rounds, async (name, round) => {
      bench.log(`long list: round ${round + 1} of ${rounds}, ${name}`);
      const program = programs[name];
      return program === undefined ? runConcatenation(databases.ours, orders) : runList(program, key, orders);
    });

    const figure = (label: string, unit: string, name: keyof LongList, baseline?: Distribution): Figure => ({
      name: label,
      unit,
      better: "less",
      ours: distributionIn(samples, "ours", name),
      peers: distributionsIn(samples, PEERS, name),
      ...(baseline === undefined ? {} : { baseline }),
      others: distributionsIn(samples, [COMPILED, PAGE_SQL, BASELINE], name),
    });
    const totalOver = (baseline: string) =>
      figure(`total, baseline: ${baseline}`, "ms", "total", distributionIn(samples, baseline, "total"));
    const overPageSql = totalOver(PAGE_SQL);
    const processor = figure(
      "processor time",
      "ms",
      "processor",
      distributionIn(samples, SQLITE, "processor"),
    );
    const firstByte = figure("first byte", "ms", "firstByte");
    const peak = figure("peak memory", "MiB", "peak");
    const latency = figure("worst latency of a concurrent request", "ms", "latency");
    return {
      title: `List of ${orders.toLocaleString("en-US")} from SQLite`,
      figures: [
        { ...overPageSql, verdict: atMostBaseline(0.6)(overPageSql) },
        totalOver(BASELINE),
        totalOver(SQLITE),
        processor,
        { ...firstByte, verdict: atMost(20)(firstByte) },
        { ...peak, verdict: atMost(110)(peak) },
        { ...latency, verdict: atMost(25)(latency) },
      ],
      notes: [
        "Each measurement is the first request of a fresh process. Peak memory is VmHWM after `clear_refs`, so it covers only the request.",
        `\`ours\` runs from the TypeScript sources, as \`npm start\` does; \`${COMPILED}\` is the same code as plain JavaScript, as in the package. Only the former has budgets.`,
        "The latency is that of small requests, a millisecond apart, from a third process during a second download.",
        `The total has three baselines, all in pages of 500. \`${PAGE_SQL}\` is bare \`node:http\` on the database of the peers: SQLite builds the JSON of the orders from columns. \`${BASELINE}\` is the same server on our database, which stores orders as JSON. Both serve no other request meanwhile. ${SQLITE} joins the rows of our database in a fresh process, without sending them.`,
      ],
    };
  },
};

async function runList(program: Program, key: string, orders: number): Promise<LongList> {
  const { firstByte, total, bytes, processor, peak } = await withServer(program, async ({ url, pid }) => {
    resetPeak(pid);
    const before = processorTime(pid);
    const result = await download(url + PATH, key);
    return { ...result, processor: processorTime(pid) - before, peak: memory(pid).peak };
  });
  if (bytes < orders * MIN_BYTES_PER_ORDER) throw new Error(`Only ${bytes} bytes were received.`);
  const latencies = await withServer(program, ({ url }) =>
    measureConcurrentLatency(url, key, () => download(url + PATH, key)),
  );
  return { firstByte, total, processor, peak, latency: latencies.longest };
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

async function runConcatenation(database: string, orders: number): Promise<LongList> {
  const file = new URL("../servers/concatenate.ts", import.meta.url);
  const child = startChild(file, [database, `${FIRST_ID + 1}`, `${orders}`]);
  const { total, processor, length } = await child.nextMessage<Sample<"total" | "processor" | "length">>();
  await child.end();
  if (length < orders * MIN_BYTES_PER_ORDER) throw new Error(`Only ${length} characters were joined.`);
  return { total, processor, firstByte: NaN, peak: NaN, latency: NaN };
}
