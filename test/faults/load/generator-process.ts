/** Sends load from a process of its own, by a plan that it is given, and tells what came of it. */
import { type ClientConnection, openConnection } from "./client-connection.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";

const plan: LoadPlan = JSON.parse(process.argv[2] ?? "");
const url = new URL(plan.url);
const statuses = new Map<number, number>();
const latencies: number[] = [];
const cancelled: number[] = [];
let lost = 0;
let answeredAfterSignal = 0;
let signalled = false;
let sent = 0;
process.on("message", () => {
  signalled = true;
});
process.on("disconnect", () => process.exit());

/** The next request, and the order that it is to cancel. */
function next(): { bytes: string; order?: number } | undefined {
  const turn = sent++;
  if (plan.of === "cancels") {
    const order = turn + 1;
    return order > plan.orders ? undefined : { bytes: cancel(order, keyFor(turn)), order };
  }
  const tenth = Math.floor(turn / 10);
  const key = turn % 10 === 9 ? (plan.freeKeys[tenth % plan.freeKeys.length] ?? "") : keyFor(turn);
  if (turn % 2 === 0) return { bytes: request("GET /v1/store/orders", key) };
  const order = turn % 4 === 1 ? 1 + (turn % plan.orders) : plan.orders + turn;
  return { bytes: cancel(order, key) };
}

const keyFor = (turn: number) => plan.keys[turn % plan.keys.length] ?? "";
const cancel = (order: number, key: string) => request(`DELETE /v1/store/orders/${order}`, key);
const request = (start: string, key: string) =>
  `${start} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** Sends the next request, and keeps what came of it. False where the connection is of no further use. */
async function exchange(connection: ClientConnection, intended?: number): Promise<boolean> {
  const following = next();
  if (following === undefined) return false;
  const began = intended ?? performance.now();
  const { status, last } = await connection.send(following.bytes);
  if (status === 0) {
    lost++;
    return false;
  }
  latencies.push(performance.now() - began);
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (signalled) answeredAfterSignal++;
  if (status === 204 && following.order !== undefined) cancelled.push(following.order);
  return !last;
}

/** As many requests as are answered. */
async function closedLoop(connections: readonly ClientConnection[], until: number): Promise<void> {
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < until && (await exchange(connection)));
    }),
  );
}

/** So many requests a second, each at its instant: what waits for a connection has been waiting since then. */
async function openLoop(
  connections: readonly ClientConnection[],
  rate: number,
  until: number,
): Promise<void> {
  const free = [...connections];
  const began = performance.now();
  let dispatched = 0;
  let underWay = 0;
  await new Promise<void>((resolve) => {
    const dispatch = () => {
      const now = performance.now();
      for (;;) {
        const intended = began + (dispatched * 1_000) / rate;
        if (intended > Math.min(now, until)) break;
        // The one that rested longest: in a corner of the pool it would rest until the server closes it.
        const connection = free.shift();
        if (connection === undefined) break;
        dispatched++;
        underWay++;
        void exchange(connection, intended).then((open) => {
          underWay--;
          if (open) free.push(connection);
        });
      }
      const isDone = began + (dispatched * 1_000) / rate > until || free.length + underWay === 0;
      if (isDone && underWay === 0) resolve();
      else setTimeout(dispatch, 1);
    };
    dispatch();
  });
}

const opened = await Promise.all(Array.from({ length: plan.connections }, () => openConnection(url)));
const began = performance.now();
const until = began + plan.seconds * 1_000;
if (plan.rate === undefined) await closedLoop(opened, until);
else await openLoop(opened, plan.rate, until);
const seconds = (performance.now() - began) / 1_000;
for (const connection of opened) connection.close();

const ascending = Float64Array.from(latencies).sort();
const quantile = (share: number) =>
  ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))] ?? 0;
process.send?.({
  statuses: Object.fromEntries(statuses),
  perSecond: latencies.length / seconds,
  p50: quantile(0.5),
  p99: quantile(0.99),
  p999: quantile(0.999),
  lost,
  answeredAfterSignal,
  cancelled,
} satisfies LoadResult);
