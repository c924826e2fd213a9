/** Lists all orders in its own process, and reports the figures to its parent: `dynamodb-list-process.ts PREFIX`. */
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";

/** The figures of a list. */
export interface Listing {
  readonly count: number;
  readonly ascending: boolean;
  readonly lastPages: number;
  readonly largestPage: number;
  readonly firstPageMs: number;
  readonly totalMs: number;
  readonly cpuMs: number;
  readonly idleMiB: number;
  readonly peakMiB: number;
}

const ID = '{"id":';

/** Reads an identifier without allocation, so that only the store's memory is measured. */
function idAt(rows: string, start: number): number {
  const isNegative = rows[start] === "-";
  let id = 0;
  for (let at = isNegative ? start + 1 : start; ; at++) {
    const digit = rows.charCodeAt(at) - 48;
    if (!(digit >= 0 && digit <= 9)) return isNegative ? -id : id;
    id = id * 10 + digit;
  }
}

const { orders } = createDynamodbStore({ prefix: process.argv[2] ?? "" });
await orders.find(0n);
const idle = process.memoryUsage.rss();
let peak = idle;
const watch = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, 10);

const startedAt = performance.now();
const cpu = process.cpuUsage();
let [count, lastPages, largestPage, firstPageMs, ascending, previous] = [
  0,
  0,
  0,
  0,
  true,
  Number.NEGATIVE_INFINITY,
];
for await (const { json: rows, last } of orders.list()) {
  if (count === 0) firstPageMs = performance.now() - startedAt;
  largestPage = Math.max(largestPage, rows.length);
  if (last) lastPages++;
  for (let at = rows.indexOf(ID); at !== -1; at = rows.indexOf(ID, at + ID.length)) {
    const id = idAt(rows, at + ID.length);
    ascending &&= id > previous;
    previous = id;
    count++;
  }
}
const { user, system } = process.cpuUsage(cpu);
clearInterval(watch);
const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);
const listing: Listing = {
  count,
  ascending,
  lastPages,
  largestPage,
  firstPageMs: Math.round(firstPageMs),
  totalMs: Math.round(performance.now() - startedAt),
  cpuMs: Math.round((user + system) / 1000),
  idleMiB: mebibytes(idle),
  peakMiB: mebibytes(peak),
};
process.send?.(listing);
process.disconnect();
