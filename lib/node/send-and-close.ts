import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/**
 * Answers on a connection that is of no further use, and ends it. What still comes in is read for `linger`
 * milliseconds: closing on unread bytes would reset the connection and could take the answer from the client.
 */
export async function sendAndClose(response: Response, socket: Duplex, linger: number): Promise<void> {
  const body = Buffer.from(await response.text());
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const fields = [
    ...response.headers,
    ["content-length", `${body.length}`],
    ["date", new Date().toUTCString()],
    ["connection", "close"],
  ];
  const head = [
    `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), linger);
  socket.once("close", () => clearTimeout(cut));
}
