/**
 * Sends load from its own process: one request at a time on each connection, with as little work as possible. The plan is
 * the argument, as JSON. Any message says that the server is shutting down. Reports the result.
 */
import { once } from "node:events";
import { connect } from "node:net";

export interface LoadPlan {
  /** The server's address, without a path. */
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  /**
   * `mix`: half lists, half cancels of existing and missing orders, every tenth request with a key of the free plan.
   * `cancels`: each order once, until the server closes.
   */
  readonly requests: "mix" | "cancels";
  readonly keys: readonly string[];
  readonly freeKeys: readonly string[];
  /** The orders have the identifiers from 1 to this one. */
  readonly orders: number;
}

export interface LoadResult {
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests without a response. */
  readonly lost: number;
  /** Responses after the generator learned that the server is shutting down. */
  readonly respondedAfterSignal: number;
  /** Orders whose cancel got 204. */
  readonly cancelled: readonly number[];
}

const plan: LoadPlan = JSON.parse(process.argv[2] ?? "");
const url = new URL(plan.url);
const statuses = new Map<number, number>();
const cancelled: number[] = [];
let [lost, respondedAfterSignal, sent] = [0, 0, 0];
let signalled = false;
process.on("message", () => {
  signalled = true;
});
process.on("disconnect", () => process.exit());

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

/** Sends one request after another until the time is over, or the server closes the connection. */
async function sendOnConnection(until: number): Promise<void> {
  const socket = connect(Number(url.port), url.hostname).setNoDelay().setEncoding("latin1");
  await once(socket, "connect");
  /** Settles with the status and whether the connection is open still, or with 0 if it ended without a response. */
  let settle: (status: number, isOpen: boolean) => void = () => {};
  let text = "";
  socket.on("data", (chunk: string) => {
    text += chunk;
    const end = text.indexOf("\r\n\r\n");
    if (end === -1) return;
    const head = text.slice(0, end);
    if (/\r\ntransfer-encoding:/i.test(head)) throw new Error("The generator reads no chunks.");
    const whole = end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (text.length < whole) return;
    text = text.slice(whole);
    settle(Number(head.slice(9, 12)), !/\r\nconnection: close/i.test(head));
  });
  socket.on("error", () => {}).on("close", () => settle(0, false));
  for (let isOpen = true; isOpen && performance.now() < until; ) {
    const following = socket.closed ? undefined : next();
    if (following === undefined) break;
    const status = await new Promise<number>((resolve) => {
      settle = (received, open) => {
        isOpen = open;
        resolve(received);
      };
      socket.write(following.bytes);
    });
    if (status === 0) lost++;
    else statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status !== 0 && signalled) respondedAfterSignal++;
    if (status === 204 && following.order !== undefined) cancelled.push(following.order);
  }
  socket.destroy();
}

const until = performance.now() + plan.seconds * 1_000;
await Promise.all(Array.from({ length: plan.connections }, () => sendOnConnection(until)));
process.send?.({
  statuses: Object.fromEntries(statuses),
  lost,
  respondedAfterSignal,
  cancelled,
} satisfies LoadResult);
