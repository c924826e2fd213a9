import { get, request } from "node:http";
import { distributionOf } from "../figures.ts";
import { FIRST_ID } from "../fixture.ts";
import { download } from "../load/download.ts";
import { findLoadGenerator } from "../load/load.ts";
import { measureUnderLoad } from "../load/under-load.ts";
import { exactProcessorTime, memory, resetPeak } from "../servers/process-cost.ts";
import { ours, start } from "../servers/server-process.ts";
import {
  databaseWithAccounts,
  databaseWithOrders,
  type GrowthDatabase,
  resetUsage,
  restoreOrders,
} from "./databases.ts";

/** Medians by name. */
export type Figures = Readonly<Record<string, number>>;

/** What grows, its least size, and how one size is measured. */
export interface Growth {
  readonly base: number;
  prepare(folder: string, size: number): Promise<void>;
  measure(folder: string, size: number, round: number): Promise<Figures>;
}

const LIST = "/v1/store/orders";
/** Of each round. The least size has 100 orders for three rounds. */
const CANCELS = 30;
const ROUNDS = 3;

/** One request at a time. The cancelled orders are spread over the table. */
const byOrders: Growth = {
  base: 100,
  async prepare(folder, size) {
    restoreOrders(await databaseWithOrders(folder, size));
  },
  async measure(folder, size, round) {
    const database = await databaseWithOrders(folder, size);
    const server = await start(ours({ database: database.path, clockStep: 2 }));
    const key = database.keys[0] ?? "";
    try {
      // The code is compiled first; no order has these identifiers.
      for (let call = 0; call < 2_000; call++) await cancel(server.url, key, call + 1, 404);
      for (let call = 0; call < 20_000 / size; call++) await download(server.url + LIST, key);
      let before = exactProcessorTime(server.pid);
      for (let index = round * CANCELS; index < (round + 1) * CANCELS; index++) {
        const order = Math.floor(((index + 0.5) / (ROUNDS * CANCELS)) * size);
        await cancel(server.url, key, FIRST_ID + 1 + order, 204);
      }
      const cancelMicroseconds = ((exactProcessorTime(server.pid) - before) * 1_000) / CANCELS;
      const firstBytes: number[] = [];
      for (let call = 0; call < 30; call++) firstBytes.push(await timeToFirstByte(server.url + LIST, key));
      resetPeak(server.pid);
      const lists = [];
      const times = size > 1e6 ? 1 : size > 1e4 ? 3 : 30;
      before = exactProcessorTime(server.pid);
      for (let call = 0; call < times; call++) {
        lists.push(await download(server.url + LIST, key));
      }
      return {
        megabytes: database.megabytes,
        cancelMicroseconds,
        firstByteMs: median(firstBytes),
        listProcessorMs: (exactProcessorTime(server.pid) - before) / times,
        listMs: median(lists.map(({ total }) => total)),
        peakMiB: memory(server.pid).peak,
      };
    } finally {
      await server.stop();
    }
  },
};

/** In all rounds, far more than are cancelled. */
const ORDERS_TO_CANCEL = 1_000_000;

/** 32 connections, which use the keys of up to 500 accounts in turn. */
const byAccounts: Growth = {
  base: 1,
  async prepare(folder, size) {
    await databaseWithAccounts(folder, size, 20);
    restoreOrders(await databaseWithAccounts(folder, size, ORDERS_TO_CANCEL));
  },
  async measure(folder, size, round) {
    const bench = { folder, load: findLoadGenerator(), rounds: ROUNDS, seconds: 2, quick: false, log() {} };
    const run = (
      database: GrowthDatabase,
      load: { method: "GET" | "DELETE"; path: string; firstId?: number },
    ) => {
      resetUsage(database);
      const program = ours({ database: database.path, clockStep: 2 });
      return measureUnderLoad(bench, program, { ...load, keys: database.keys });
    };
    const few = await databaseWithAccounts(folder, size, 20);
    const many = await databaseWithAccounts(folder, size, ORDERS_TO_CANCEL);
    const list = await run(few, { method: "GET", path: LIST });
    const firstId = FIRST_ID + Math.floor((round / ROUNDS) * ORDERS_TO_CANCEL);
    const cancels = await run(many, { method: "DELETE", path: `${LIST}/`, firstId });
    if (list.rejected + cancels.rejected > 0)
      throw new Error(`Rejected: ${list.rejected} of the lists, ${cancels.rejected} of the cancels.`);
    return {
      megabytes: few.megabytes,
      listMicroseconds: list.processor,
      cancelMicroseconds: cancels.processor,
      peakMiB: list.peak,
    };
  },
};

/** Both kinds of growth. */
export const GROWTHS = { orders: byOrders, accounts: byAccounts } as const;

/** Measures a size and the least size in turns, and returns the medians of both. */
export async function compareWithBase(
  { base, prepare, measure }: Growth,
  folder: string,
  size: number,
): Promise<{ readonly base: Figures; readonly size: Figures }> {
  for (const prepared of [base, size]) await prepare(folder, prepared);
  const samples: { base: Figures[]; size: Figures[] } = { base: [], size: [] };
  for (let round = 0; round < ROUNDS; round++) {
    samples.base.push(await measure(folder, base, round));
    samples.size.push(await measure(folder, size, round));
  }
  return { base: mediansOf(samples.base), size: mediansOf(samples.size) };
}

function mediansOf(samples: readonly Figures[]): Figures {
  const names = Object.keys(samples[0] ?? {});
  return Object.fromEntries(
    names.map((name) => [name, median(samples.map((sample) => sample[name] ?? NaN))]),
  );
}

function median(values: readonly number[]): number {
  return distributionOf(values).median;
}

/** In milliseconds. Nothing else of the response is read. */
function timeToFirstByte(url: string, key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const sent = get(url, { headers: { authorization: `Bearer ${key}` }, agent: false }, (response) => {
      response.once("data", () => {
        resolve(performance.now() - startedAt);
        sent.destroy();
      });
    });
    sent.on("error", reject);
  });
}

function cancel(url: string, key: string, id: number, expected: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const sent = request(`${url}${LIST}/${id}`, { method: "DELETE", headers }, (response) => {
      if (response.statusCode !== expected) reject(new Error(`A cancel got ${response.statusCode}.`));
      response.resume().on("end", resolve);
    });
    sent.on("error", reject).end();
  });
}
