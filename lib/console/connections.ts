import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The most connections that have not shown the session. */
const MAX_UNAUTHENTICATED = 100;

/**
 * Keeps the console reachable while another program on the machine opens connections: for each above the limit, the
 * oldest one that has not shown the session is closed. Returns a function for a connection that has shown it.
 */
export function limitConnections(server: Server): (connection: Socket) => void {
  const unauthenticated = new Set<Socket>();
  server.on("connection", (connection: Socket) => {
    unauthenticated.add(connection);
    connection.once("close", () => unauthenticated.delete(connection));
    const [oldest] = unauthenticated;
    if (unauthenticated.size <= MAX_UNAUTHENTICATED || oldest === undefined) return;
    unauthenticated.delete(oldest);
    oldest.destroy();
  });
  return (connection) => void unauthenticated.delete(connection);
}
