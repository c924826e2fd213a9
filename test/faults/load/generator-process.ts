/** Sends load from its own process according to a plan, and reports the result. */
import { type ClientConnection, openConnection } from "./client-connection.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";

const plan: LoadPlan = JSON.parse(process.argv[2] ?? "");
const url = new URL(plan.url);
const statuses = new Map<number, number>();
const latencies: number[] = [];
const cancelled: number[] = [];
let lost = 0;
let respondedAfterSignal = 0;
let signalled = false;
let sent = 0;
process.on("message", () => {
  signalled = true;
});
process.on("disconnect", () => process.exit());

/** The next request, and the order that it cancels. */
function next(): { bytes: string; order?: number } | undefined {
  const index = sent++;
  if (plan.requests === "cancels") {
    const order = index + 1;
    return order > plan.orders ? undefined : { bytes: cancel(order, keyFor(index)), order };
  }
  const tenth = Math.floor(index / 10);
  const key = index % 10 === 9 ? (plan.freeKeys[tenth % plan.freeKeys.length] ?? "") : keyFor(index);
  if (index % 2 === 0) return { bytes: request("GET /v1/store/orders", key) };
  const order = index % 4 === 1 ? 1 + (index % plan.orders) : plan.orders + index;
  return { bytes: cancel(order, key) };
}

const keyFor = (index: number) => plan.keys[index % plan.keys.length] ?? "";
const cancel = (order: number, key: string) => request(`DELETE /v1/store/orders/${order}`, key);
const request = (start: string, key: string) =>
  `${start} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** Sends the next request and records the result. Resolves to false if the connection cannot be used again. */
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
  if (signalled) respondedAfterSignal++;
  if (status === 204 && following.order !== undefined) cancelled.push(following.order);
  return !last;
}

/** Sends the next request on a connection when the last one has its response. */
async function closedLoop(connections: readonly ClientConnection[], until: number): Promise<void> {
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < until && (await exchange(connection)));
    }),
  );
}

/** Sends requests at a constant rate. The latency of each includes the wait for a free connection. */
async function openLoop(
  connections: readonly ClientConnection[],
  rate: number,
  { began, until }: { readonly began: number; readonly until: number },
): Promise<void> {
  const idle = [...connections];
  let dispatched = 0;
  let inFlight = 0;
  await new Promise<void>((resolve) => {
    const dispatch = () => {
      const now = performance.now();
      for (;;) {
        const intended = began + (dispatched * 1_000) / rate;
        if (intended > Math.min(now, until)) break;
        // The connection that was idle longest, so that the server closes none for inactivity.
        const connection = idle.shift();
        if (connection === undefined) break;
        dispatched++;
        inFlight++;
        void exchange(connection, intended).then((open) => {
          inFlight--;
          if (open) idle.push(connection);
        });
      }
      const isDone = began + (dispatched * 1_000) / rate > until || idle.length + inFlight === 0;
      if (isDone && inFlight === 0) resolve();
      else setTimeout(dispatch, 1);
    };
    dispatch();
  });
}

const connections = await Promise.all(Array.from({ length: plan.connections }, () => openConnection(url)));
const began = performance.now();
const until = began + plan.seconds * 1_000;
if (plan.rate === undefined) await closedLoop(connections, until);
else await openLoop(connections, plan.rate, { began, until });
const seconds = (performance.now() - began) / 1_000;
for (const connection of connections) connection.close();

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
  respondedAfterSignal,
  cancelled,
} satisfies LoadResult);
