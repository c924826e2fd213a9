import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Distribution, Figure } from "../figures.ts";
import { type BenchDatabases, copyDatabases, createBenchDatabases, FIRST_ID } from "../fixture.ts";
import { type Curve, drawGrowthPicture } from "../growth-picture.ts";
import type { Bench, Job } from "../job.ts";
import { download } from "../load/download.ts";
import { measureUnderLoad } from "../load/under-load.ts";
import { distributionIn, runInTurns, type Sample, type Samples } from "../rounds.ts";
import { createCandidates } from "../servers/candidates.ts";
import { start } from "../servers/server-process.ts";

const LIST = "/v1/store/orders";
/** The best peer in most jobs. */
const PEER = "fastify";
const PICTURE = new URL("../growth.svg", import.meta.url);

type OrderSample = Sample<"list" | "firstByte" | "cancel">;
type AccountSample = Sample<"list" | "cancel">;

/** How the cost grows with the orders and with the accounts. */
export const growth: Job = {
  id: "growth",
  async run(bench) {
    const orders = bench.quick ? [100, 10_000] : [100, 10_000, 1_000_000];
    const accounts = bench.quick ? [1, 100] : [1, 1_000, 100_000];
    const byOrders = new Map<number, Samples<keyof OrderSample>>();
    for (const count of orders) byOrders.set(count, await measureByOrders(bench, count));
    const byAccounts = new Map<number, Samples<keyof AccountSample>>();
    for (const count of accounts) byAccounts.set(count, await measureByAccounts(bench, count));

    const pointsByOrders = (candidate: string, name: keyof OrderSample) =>
      orders.map((at) => ({
        at,
        value: distributionIn(byOrders.get(at) ?? new Map(), candidate, name).median,
      }));
    const pointsByAccounts = (candidate: string, name: keyof AccountSample) =>
      accounts.map((at) => ({
        at,
        value: distributionIn(byAccounts.get(at) ?? new Map(), candidate, name).median,
      }));
    const curves = <Name extends string>(
      of: (candidate: string, name: Name) => Curve["points"],
      names: Readonly<Record<string, Name>>,
    ): readonly Curve[] =>
      Object.entries(names).flatMap(([label, name]) => [
        { label, points: of("ours", name), ours: true },
        { label: `${label}, ${PEER}`, points: of(PEER, name), ours: false },
      ]);
    const picture = drawGrowthPicture([
      {
        title: "by number of orders",
        unit: "ms",
        curves: curves(pointsByOrders, { "whole list": "list", "first byte": "firstByte", cancel: "cancel" }),
      },
      {
        title: "by number of accounts",
        unit: "µs per request",
        curves: curves(pointsByAccounts, { "list of 20": "list", "durable cancel": "cancel" }),
      },
    ]);
    if (!bench.quick) writeFileSync(PICTURE, picture);

    const figure = (
      label: string,
      unit: string,
      distribution: (candidate: string) => Distribution,
    ): Figure => ({
      name: label,
      unit,
      better: "less",
      ours: distribution("ours"),
      peers: { [PEER]: distribution(PEER) },
    });
    return {
      title: "Growth",
      figures: [
        ...(["list", "firstByte", "cancel"] as const).flatMap((name) =>
          orders.map((at) =>
            figure(`${ORDER_FIGURES[name]}, ${at.toLocaleString("en-US")} orders`, "ms", (candidate) =>
              distributionIn(byOrders.get(at) ?? new Map(), candidate, name),
            ),
          ),
        ),
        ...(["list", "cancel"] as const).flatMap((name) =>
          accounts.map((at) =>
            figure(`${ACCOUNT_FIGURES[name]}, accounts: ${at.toLocaleString("en-US")}`, "µs", (candidate) =>
              distributionIn(byAccounts.get(at) ?? new Map(), candidate, name),
            ),
          ),
        ),
      ],
      notes: [
        "By orders: one request at a time, the median of 30 (100 for cancel, 3 for the list of a million). By accounts, with 20 keys each: 32 connections whose requests use the keys of up to 500 accounts in turn, microseconds per request.",
      ],
    };
  },
};

const ORDER_FIGURES = {
  list: "whole list",
  firstByte: "first byte",
  cancel: "cancel, one at a time",
} as const;
const ACCOUNT_FIGURES = { list: "list of 20", cancel: "durable cancel" } as const;

/** One request at a time against a number of orders. */
async function measureByOrders(bench: Bench, orders: number): Promise<Samples<keyof OrderSample>> {
  const databases = await createBenchDatabases(join(bench.folder, `orders-${orders}`), orders);
  const key = databases.keys[0] ?? "";
  const rounds = Math.min(bench.rounds, 3);
  return runInTurns(["ours", PEER], rounds, async (name, round) => {
    bench.log(`growth: ${orders} orders, round ${round + 1} of ${rounds}, ${name}`);
    const server = await start(programOf(name, copyDatabases(databases, join(bench.folder, "round"))));
    try {
      const times = orders > 100_000 ? 3 : 30;
      const downloads = [];
      for (let time = 0; time < times; time++) downloads.push(await download(server.url + LIST, key));
      const cancels: number[] = [];
      for (let index = 0; index < 100; index++) cancels.push(await cancelTime(server.url, key, index));
      return {
        list: median(downloads.map(({ total }) => total)),
        firstByte: median(downloads.map(({ firstByte }) => firstByte)),
        cancel: median(cancels),
      };
    } finally {
      await server.stop();
    }
  });
}

/** The keys of each account. */
const KEYS = 20;

/** Load from a number of accounts in turn. */
async function measureByAccounts(bench: Bench, accounts: number): Promise<Samples<keyof AccountSample>> {
  const fewOrders = await createBenchDatabases(join(bench.folder, `few-${accounts}`), 20, accounts, KEYS);
  const manyOrders = await createBenchDatabases(
    join(bench.folder, `many-${accounts}`),
    bench.quick ? 80_000 : 200_000,
    accounts,
    KEYS,
  );
  const rounds = Math.min(bench.rounds, 3);
  return runInTurns(["ours", PEER], rounds, async (name, round) => {
    bench.log(`growth: ${accounts} accounts, round ${round + 1} of ${rounds}, ${name}`);
    const shortBench = { ...bench, seconds: 1 };
    const run = (
      databases: BenchDatabases,
      method: "GET" | "DELETE",
      target: { path: string; firstId?: number },
    ) =>
      measureUnderLoad(shortBench, programOf(name, copyDatabases(databases, join(bench.folder, "round"))), {
        method,
        ...target,
        keys: databases.keys,
      });
    const list = await run(fewOrders, "GET", { path: LIST });
    const cancel = await run(manyOrders, "DELETE", { path: `${LIST}/`, firstId: FIRST_ID });
    if (list.rejected + cancel.rejected > 0) throw new Error(`${name} rejected requests.`);
    return { list: 1e6 / list.rate, cancel: 1e6 / cancel.rate };
  });
}

function programOf(name: string, databases: BenchDatabases) {
  const program = createCandidates(databases, { clockStep: 2 })[name];
  if (program === undefined) throw new Error(`There is no candidate ${name}.`);
  return program;
}

async function cancelTime(url: string, key: string, index: number): Promise<number> {
  const startedAt = performance.now();
  const headers = { authorization: `Bearer ${key}` };
  const { status } = await fetch(`${url}${LIST}/${FIRST_ID + 1 + index}`, { method: "DELETE", headers });
  if (status !== 204) throw new Error(`A cancel got ${status}.`);
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
