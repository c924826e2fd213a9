/**
 * The console: a page for the operator of a store, on the operator's own machine.
 *
 * ```ts
 * const server = await startConsole({ store, storeName: "orders.db", environment: "test", … });
 * console.log(server.link);
 * ```
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { createTrafficSampler } from "./accounts/traffic-sampler.ts";
import { type AppOptions, createConsoleApp } from "./app.ts";
import { limitConnections } from "./connections.ts";
import type { ConsoleContext } from "./section.ts";
import { createSession } from "./session.ts";

/** The only address that the console listens on: nobody else can reach it. */
export const LOOPBACK = "127.0.0.1";

/** One sample per minute and account is enough; with three, a slow one does not leave a gap. */
const SAMPLE_INTERVAL_MS = 20_000;

/** Options of `startConsole`. */
export interface ConsoleOptions extends Omit<ConsoleContext, "traffic">, Pick<AppOptions, "explain" | "log"> {
  /** The port to listen on; 0 chooses a free one. */
  readonly port: number;
}

/** A running console. */
export interface RunningConsole {
  /** Opens the console, once. Whoever has it gets the session: it must not be logged. */
  readonly link: string;
  /** Ends the session and every connection. */
  close(): Promise<void>;
}

/** Starts the console on the loopback address. Rejects if the port is in use. */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const session = createSession();
  let port = options.port;
  const { store, clock } = options;
  const traffic = createTrafficSampler(store.accounts, clock);
  let keep: ReturnType<typeof limitConnections> | undefined;
  const onSession = (bindings: unknown) => keep?.((bindings as HttpBindings).incoming.socket);
  const app = createConsoleApp({ ...options, traffic }, { ...options, session, port: () => port, onSession });
  const server = createAdaptorServer({
    fetch: app.fetch,
    // Otherwise the global Request and Response are replaced, also for the code around the console.
    overrideGlobalObjects: false,
    serverOptions: { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 30_000 },
  }) as Server;
  keep = limitConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, LOOPBACK, resolve);
  });
  port = (server.address() as AddressInfo).port;
  // A store that cannot be reached is a gap in the chart; the page reports it.
  const sampling = setInterval(() => traffic.sample().catch(() => {}), SAMPLE_INTERVAL_MS);
  return {
    link: `http://${LOOPBACK}:${port}${session.basePath}/start#${session.linkToken}`,
    close: () =>
      new Promise((resolve) => {
        clearInterval(sampling);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
