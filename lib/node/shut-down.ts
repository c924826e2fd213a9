import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { MAX_TIMER_MS } from "../clock.ts";

/** What is needed to close a server. */
export interface ShutDownOptions {
  readonly server: Server;
  /** Every open connection, and whether a request is in progress on it. */
  readonly connections: ReadonlyMap<Socket, { isBusy(): boolean }>;
  /** Time for requests to finish, in milliseconds. */
  readonly graceMs: number;
}

/**
 * A connection without traffic for this long is closed. A connection in use gets `Connection: close` with its next
 * response instead: closing it between two requests could lose a request that is on its way.
 */
const IDLE_MS = 250;

/** Accepts no more connections, waits for those in use, and closes the rest after `graceMs`. */
export function shutDown({ server, connections, graceMs }: ShutDownOptions): Promise<void> {
  return new Promise((resolve) => {
    const lastBytesRead = new Map<Socket, number>();
    const interval = setInterval(closeIdle, IDLE_MS);
    const timer = setTimeout(
      () => connections.forEach((_, socket) => void socket.destroy()),
      Math.min(graceMs, MAX_TIMER_MS),
    );
    closeIdle();

    const finish = () => {
      clearInterval(interval);
      clearTimeout(timer);
      server.close(() => resolve());
    };
    // The `close` of Node's HTTP server would at once end every connection that is between two requests. Other runtimes
    // have an HTTP server that is not one of `node:net`.
    const isNetServer = (server as object) instanceof NetServer;
    if (isNetServer) NetServer.prototype.close.call(server, finish);
    else server.close(finish);

    function closeIdle(): void {
      for (const [socket, { isBusy }] of connections) {
        if (isBusy()) lastBytesRead.delete(socket);
        else if (lastBytesRead.get(socket) === socket.bytesRead) socket.destroy();
        else lastBytesRead.set(socket, socket.bytesRead);
      }
    }
  });
}
