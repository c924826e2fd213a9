/**
 * Measures how the cost of a request on SQLite grows with the data, prints the tables, and draws growth.svg:
 * `node test/bench/growth.ts`. Its databases, 2 GB, are in `.data` while it runs.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { orderToJson } from "../../lib/orders/wire.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { type Curve, drawPicture } from "../support/picture.ts";
import { exactProcessorTime, memory, resetPeak } from "../support/process-cost.ts";
import { createShops, FIRST_ID, orderAt } from "./fixture.ts";
import { download, measureUnderLoad, requireWrk } from "./load/load.ts";
import { describeMachine } from "./machine.ts";
import { type Figures, inTurns, median, type Samples } from "./rounds.ts";
import { ours } from "./servers/candidates.ts";
import { start } from "./servers/server-process.ts";

const LIST = "/v1/store/orders";
const ROUNDS = 3;
/** Of each round, one request at a time. The least size has 100 orders for three rounds. */
const CANCELS = 30;
const KEYS_PER_ACCOUNT = 5;
/** Beside many accounts. In all rounds, far fewer are cancelled. */
const ORDERS_TO_CANCEL = 1_000_000;

/**
 * A figure, and whether it is compared with that of the least size. Those of time are drawn. All of them are processor
 * time, which other work on the machine changes least.
 */
type Column = readonly [figure: string, title: string, unit: string, compared?: "compared"];

interface Growth {
  /** From the least size on. */
  readonly sizes: readonly number[];
  readonly columns: readonly Column[];
  measure(size: number, round: number): Promise<Figures>;
}

const GROWTHS: Readonly<Record<string, Growth>> = {
  orders: {
    sizes: [100, 10_000, 1_000_000, 10_000_000],
    columns: [
      ["megabytes", "database", "MB"],
      ["cancel", "durable cancel, processor time", "µs", "compared"],
      ["listPerThousand", "list per 1,000 orders, processor time", "µs", "compared"],
      ["peak", "peak memory", "MiB", "compared"],
    ],
    measure: measureOrders,
  },
  accounts: {
    sizes: [1, 1_000, 100_000],
    columns: [
      ["megabytes", "database", "MB"],
      ["list", "list of 20, processor time", "µs", "compared"],
      ["cancel", "durable cancel, processor time", "µs", "compared"],
      ["peak", "peak memory", "MiB", "compared"],
    ],
    measure: measureAccounts,
  },
};

requireWrk();
mkdirSync(".data", { recursive: true });
const folder = mkdtempSync(join(".data", "growth-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.stdout.write(`${describeMachine(folder)}, medians of ${ROUNDS} rounds\n`);
const panels = [];
for (const [kind, { sizes, columns, measure }] of Object.entries(GROWTHS)) {
  const samples = await inTurns(sizes.map(String), ROUNDS, (size, round) => {
    process.stderr.write(`${kind}: round ${round + 1} of ${ROUNDS}, ${size}\n`);
    return measure(Number(size), round);
  });
  process.stdout.write(`\n${toTable(kind, samples, columns)}`);
  const curves: readonly Curve[] = columns
    .filter(([, , unit, compared]) => compared !== undefined && unit !== "MiB")
    .map(([figure, title]) => ({
      label: title.replace(", processor time", ""),
      points: sizes.map((size) => ({ at: size, value: medianRatio(samples, size, figure) })),
    }));
  panels.push({ title: `by number of ${kind}`, unit: `× that of ${sizes[0]}`, curves });
}
const description = "The cost of a request by number of orders and of accounts; the tables have the figures";
writeFileSync(new URL("growth.svg", import.meta.url), drawPicture(panels, description));

function toTable(kind: string, samples: Samples, columns: readonly Column[]): string {
  const rows = Object.entries(samples).map(([size, rounds], row) => [
    number(Number(size)),
    ...columns.map(([figure, , unit, compared]) => {
      const value = median(rounds.map((figures) => figures[figure] ?? NaN));
      const ratio = `(× ${medianRatio(samples, Number(size), figure).toFixed(2)})`;
      return `${number(Number(value.toPrecision(3)))} ${unit} ${row > 0 && compared ? ratio : ""}`.trim();
    }),
  ]);
  const heads = [
    [kind, ...columns.map(([, title]) => title)],
    ["---:", ...columns.map(() => "---:")],
  ];
  return [...heads, ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** The median over the rounds of a figure relative to that of the least size. */
function medianRatio(samples: Samples, size: number, figure: string): number {
  const least = Object.values(samples)[0] ?? [];
  const ratios = (samples[size] ?? []).map(
    (each, round) => (each[figure] ?? NaN) / (least[round]?.[figure] ?? NaN),
  );
  return median(ratios);
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** One request at a time. The cancelled orders are spread over the table. */
async function measureOrders(size: number, round: number): Promise<Figures> {
  const { path, keys, megabytes } = await openDatabase(1, size);
  const key = keys[0] ?? "";
  const server = await start(ours({ database: path, clockStep: 2 }));
  try {
    // The code is compiled first; no order has these identifiers.
    for (let call = 0; call < 2_000; call++) await cancel(server.url, key, call + 1, 404);
    for (let call = 0; call < 20_000 / size; call++) await download(server.url + LIST, key);
    let before = exactProcessorTime(server.pid);
    for (let index = round * CANCELS; index < (round + 1) * CANCELS; index++) {
      const order = Math.floor(((index + 0.5) / (ROUNDS * CANCELS)) * size);
      await cancel(server.url, key, FIRST_ID + 1 + order, 204);
    }
    const cancelMs = (exactProcessorTime(server.pid) - before) / CANCELS;
    resetPeak(server.pid);
    before = exactProcessorTime(server.pid);
    const times = size > 1e6 ? 3 : size > 1e4 ? 10 : 100;
    for (let call = 0; call < times; call++) await download(server.url + LIST, key);
    const listMs = (exactProcessorTime(server.pid) - before) / times;
    return {
      megabytes,
      cancel: cancelMs * 1_000,
      listPerThousand: (listMs / size) * 1e6,
      peak: memory(server.pid).peak,
    };
  } finally {
    await server.stop();
  }
}

/** 32 connections, which use the keys of up to 500 accounts in turn. */
async function measureAccounts(size: number, round: number): Promise<Figures> {
  const run = async (
    orders: number,
    requests: { method: "GET" | "DELETE"; path: string; firstId?: number },
  ) => {
    const { path, keys, megabytes } = await openDatabase(size, orders);
    const load = { ...requests, keys, connections: 32 };
    const figures = await measureUnderLoad(ours({ database: path, clockStep: 2 }), load, 2);
    if (figures["rejected"] !== 0) throw new Error(`Requests were rejected: ${figures["rejected"]}.`);
    return { megabytes, processor: NaN, peak: NaN, ...figures };
  };
  const { megabytes, processor: list, peak } = await run(20, { method: "GET", path: LIST });
  const firstId = FIRST_ID + Math.floor((round / ROUNDS) * ORDERS_TO_CANCEL);
  const { processor } = await run(ORDERS_TO_CANCEL, { method: "DELETE", path: `${LIST}/`, firstId });
  return { megabytes, list, cancel: processor, peak };
}

/** Creates a database of our service, or forgets what earlier rounds have done to it. */
async function openDatabase(accounts: number, orders: number) {
  const path = join(folder, `${accounts}-accounts-${orders}-orders.db`);
  const keysPath = `${path}.keys.json`;
  if (!existsSync(keysPath)) {
    const [empty, emptyKeysPath] = [
      join(folder, `${accounts}-accounts.db`),
      join(folder, `${accounts}-accounts.json`),
    ];
    if (!existsSync(emptyKeysPath)) {
      const store = createSqliteStore({ path: empty });
      const keys = await createShops(store, accounts, KEYS_PER_ACCOUNT);
      await store.close();
      writeFileSync(emptyKeysPath, JSON.stringify(keys));
    }
    cpSync(empty, path);
    fillOrders(path, orders);
    cpSync(emptyKeysPath, keysPath);
  }
  const db = new DatabaseSync(path);
  // The clock of an earlier server ran ahead.
  db.exec(`UPDATE accounts SET minute_start = 0, day_start = 0 WHERE minute_start <> 0;
    UPDATE orders SET status = 'pending' WHERE status <> 'pending'; PRAGMA wal_checkpoint(TRUNCATE)`);
  db.close();
  const keys: readonly string[] = JSON.parse(readFileSync(keysPath, "utf8"));
  return { path, keys, megabytes: statSync(path).size / 1e6 };
}

/** Writes the orders of `orderAt` in one statement: ten million take half a minute. */
function fillOrders(path: string, orders: number): void {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  db.prepare(
    `INSERT INTO orders
     WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $orders)
     SELECT $firstId + 1 + n, 'pending', printf(
       '{"id":%d,"petId":%d,"quantity":%d,"shipDate":"%sT00:00:00.000Z","complete":%s}', $firstId + 1 + n,
       10000 + n % 80000, 1 + n % 9, date('2026-01-01', (n % 365) || ' days'), iif(n % 3 = 0, 'true', 'false')),
       'p1763640000000,:import;'
     FROM numbers`,
  ).run({ orders, firstId: FIRST_ID });
  const last = orderAt(orders - 1).record;
  const written = db.prepare("SELECT record FROM orders WHERE id = ?").get(last.id)?.["record"];
  if (written !== orderToJson(last))
    throw new Error(`The last order is ${written} instead of ${orderToJson(last)}.`);
  db.exec("PRAGMA journal_mode = WAL");
  db.close();
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
