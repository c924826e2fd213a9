import assert from "node:assert/strict";
import { memory, resetPeak } from "../../support/process-cost.ts";
import { download, worstLatency } from "../load/load.ts";
import { type Figures, inTurns, type Samples } from "../rounds.ts";
import { withPageSql, withPostgresPeers } from "../servers/candidates.ts";
import { type Program, type RunningServer, start } from "../servers/server-process.ts";
import { type Bench, type OpenStage, onEmulator, onPostgres, onSqlite } from "../servers/stages.ts";

const PATH = "/v1/store/orders";
const ORDERS = 1_000_000;
/** The least size of an order on the wire. */
const MIN_BYTES_PER_ORDER = 90;

/** The lists of a million orders. In SQLite, the list is the first request of a process. */
export const LONG_LISTS: Readonly<Record<string, (bench: Bench) => Promise<Samples>>> = {
  "long-list": (bench) => run(bench, onSqlite(withPageSql), { isFirst: true }),
  "postgres-long-list": (bench) => run(bench, onPostgres(withPostgresPeers), { isFirst: false }),
  "dynamodb-long-list": (bench) => run(bench, onEmulator, { isFirst: false }),
};

async function run(
  { folder, rounds, quick, log }: Bench,
  open: OpenStage,
  { isFirst }: { isFirst: boolean },
): Promise<Samples> {
  const orders = quick ? ORDERS / 20 : ORDERS;
  log(`placing ${orders} orders`);
  const { keys, candidates, remove } = await open(folder, { orders });
  const key = keys[0] ?? "";
  try {
    const programs = await candidates();
    // Only the figures of ours have budgets without SQLite.
    const names = Object.keys(programs).filter((name) => isFirst || name === "ours");
    return await inTurns(names, rounds, async (name, round) => {
      log(`round ${round + 1} of ${rounds}, ${name}`);
      const program = programs[name];
      assert(program !== undefined);
      const figures = await withServer(program, (server) => measureList(server, key, orders, isFirst));
      if (name !== "ours" || !isFirst) return figures;
      const list = (url: string) => download(url + PATH, key);
      return {
        ...figures,
        latency: await withServer(program, ({ url }) => worstLatency(url, key, () => list(url))),
      };
    });
  } finally {
    await remove();
  }
}

async function measureList(
  { url, pid }: RunningServer,
  key: string,
  orders: number,
  isFirst: boolean,
): Promise<Figures> {
  // Idle means after a first response: the driver is loaded and connected.
  if (!isFirst)
    await fetch(`${url}${PATH}/1`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } });
  resetPeak(pid);
  const idle = memory(pid).now;
  const { firstByte, total, bytes } = await download(url + PATH, key);
  assert(bytes >= orders * MIN_BYTES_PER_ORDER, `Only ${bytes} bytes were received.`);
  const { peak } = memory(pid);
  return { firstByte, total, peak, aboveIdle: peak - idle };
}

async function withServer<T>(program: Program, work: (server: RunningServer) => Promise<T>): Promise<T> {
  const server = await start(program);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}
