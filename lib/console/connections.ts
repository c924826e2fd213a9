import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The most connections that have not shown the session. */
const MAX_STRANGERS = 100;

/**
 * Keeps the console reachable while another program on the machine opens connections: for each above the limit, the
 * oldest one that has not shown the session is closed. Returns a function for a connection that has shown it.
 */
export function limitConnections(server: Server): (connection: Socket) => void {
  const strangers = new Set<Socket>();
  server.on("connection", (connection: Socket) => {
    strangers.add(connection);
    connection.once("close", () => strangers.delete(connection));
    const [oldest] = strangers;
    if (strangers.size <= MAX_STRANGERS || oldest === undefined) return;
    strangers.delete(oldest);
    oldest.destroy();
  });
  return (connection) => void strangers.delete(connection);
}
