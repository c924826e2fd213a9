import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";

/** What a server has to be told of while it closes. */
export interface ShutDown {
  readonly server: Server;
  /** Every open connection, and whether a request is under way on it. */
  readonly connections: ReadonlyMap<Socket, { isBusy(): boolean }>;
  /** Milliseconds that requests have to finish in. */
  readonly grace: number;
}

/**
 * A connection on which nothing is said for so long is let go, in milliseconds. One that is in use is told with its
 * next answer instead: closed between two requests, it could lose the one that is on its way.
 */
const IDLE_MS = 250;

/** Takes no more connections, lets those end that are in use, and cuts off what is left after `grace`. */
export function shutDown({ server, connections, grace }: ShutDown): Promise<void> {
  return new Promise((resolve) => {
    const lastBytesRead = new Map<Socket, number>();
    const sweep = setInterval(closeIdle, IDLE_MS);
    const cut = setTimeout(() => connections.forEach((_, socket) => void socket.destroy()), grace);
    closeIdle();

    // An HTTP server's own `close` ends every connection at once that is between two requests.
    NetServer.prototype.close.call(server, () => {
      clearInterval(sweep);
      clearTimeout(cut);
      server.close(() => resolve());
    });

    function closeIdle(): void {
      for (const [socket, { isBusy }] of connections) {
        if (isBusy()) lastBytesRead.delete(socket);
        else if (lastBytesRead.get(socket) === socket.bytesRead) socket.destroy();
        else lastBytesRead.set(socket, socket.bytesRead);
      }
    }
  });
}
