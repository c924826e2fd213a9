import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { DeliveredChange } from "../../../lib/orders/delivery.ts";
import type { SeededRandom } from "../run.ts";

/** What the receiver gets of a change. */
export interface ReceivedChange {
  readonly id: string;
  readonly event: string;
  readonly at: number;
  readonly by: string;
}

const SPEED = 20;

/** A clock that runs faster, the same in each process, with the `wait` that follows it. */
export function fastTime(epoch: number) {
  return {
    clock: () => Math.trunc(epoch + (Date.now() - epoch) * SPEED),
    wait: (ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, ms / SPEED);
        signal.addEventListener("abort", end);
        if (signal.aborted) end();
      }),
  };
}

/** Returns a `deliver` that sends each change to the receiver. */
export function deliverTo(receiver: string) {
  return async ({ id, event, at, by }: DeliveredChange, signal: AbortSignal): Promise<void> => {
    const response = await fetch(receiver, {
      method: "POST",
      body: JSON.stringify({ id, event, at, by }),
      signal,
    });
    if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
  };
}

/**
 * A receiver of changes that fails: it does not act, or acts and says that it failed, or acts and does not answer, or
 * closes the connection. Once `isCalm`, it works.
 */
export async function startReceiver(random: SeededRandom) {
  const received: ReceivedChange[] = [];
  const state = { isCalm: false };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const change = JSON.parse(Buffer.concat(chunks).toString()) as ReceivedChange;
    const fails = (probability: number) => !state.isCalm && random.chance(probability);
    if (fails(0.1)) return void response.writeHead(503).end();
    received.push(change);
    if (fails(0.05)) return void response.writeHead(500).end();
    if (fails(0.03)) return;
    if (fails(0.05)) return void request.socket.destroy();
    response.writeHead(204).end();
  });
  server.on("clientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    state,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
