/**
 * A client that opens connections, sends the same bytes on each and reads no response: `flood-process.ts URL
 * CONNECTIONS`. The parent sends the bytes. Reports when they have been sent; ends with its parent.
 */
import { once } from "node:events";
import { connect } from "node:net";

const [url = "", connections = "0"] = process.argv.slice(2);
const { hostname, port } = new URL(url);
process.once("message", async (bytes: string) => {
  const sockets = Array.from({ length: Number(connections) }, () =>
    connect(Number(port), hostname)
      .on("error", () => {})
      .pause(),
  );
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) socket.write(bytes, "latin1");
  process.send?.("sent");
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
