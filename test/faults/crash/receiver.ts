import { createServer, type IncomingHttpHeaders } from "node:http";
import { Webhook } from "standardwebhooks";
import type { DeliveredChange } from "../../../lib/orders/delivery.ts";
import { listenOn } from "../../support/free-port.ts";
import type { SeededRandom } from "../run.ts";

export interface ReceivedChange {
  readonly id: string;
  readonly event: string;
  readonly at: number;
  readonly by: string;
}

const SPEED = 20;

export const SECRET = `whsec_${Buffer.alloc(32, "a").toString("base64")}`;

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

export function deliverTo(receiver: string) {
  return async ({ id, event, at, by = "" }: DeliveredChange, signal: AbortSignal): Promise<void> => {
    const response = await fetch(receiver, {
      method: "POST",
      body: JSON.stringify({ id, event, at, by }),
      signal,
    });
    if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
  };
}

/** Reads what `deliverTo` has sent, or a webhook, whose signature must be valid. */
function readChange(body: string, headers: IncomingHttpHeaders): ReceivedChange {
  if (!("webhook-id" in headers)) return JSON.parse(body);
  const { data } = new Webhook(SECRET).verify(body, headers as Record<string, string>) as {
    readonly data: Omit<ReceivedChange, "at"> & { readonly at: string };
  };
  const { id, event, at, by = "" } = data;
  return { id, event, at: Date.parse(at), by };
}

/**
 * A receiver of changes that fails: it does not act, or acts and says that it failed, or acts and does not answer, or
 * closes the connection; and every fourth second it is down. Once `isCalm`, it works. `signed` counts webhooks.
 */
export async function startReceiver(random: SeededRandom) {
  const received: ReceivedChange[] = [];
  const state = { isCalm: false, signed: 0 };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const isDown = Math.floor(Date.now() / 1_000) % 4 === 0;
    const fails = (probability: number) => !state.isCalm && random.chance(probability);
    if (fails(isDown ? 1 : 0)) return void request.socket.destroy();
    const change = readChange(Buffer.concat(chunks).toString(), request.headers);
    if ("webhook-id" in request.headers) state.signed++;
    if (fails(0.1)) return void response.writeHead(503).end();
    received.push(change);
    if (fails(0.05)) return void response.writeHead(500).end();
    if (fails(0.03)) return;
    if (fails(0.05)) return void request.socket.destroy();
    response.writeHead(204).end();
  });
  server.on("clientError", () => {});
  return {
    url: `http://127.0.0.1:${await listenOn(server)}`,
    received,
    state,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
