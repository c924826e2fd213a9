import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { toWebBody } from "../http/body.ts";
import type { NodeResponse } from "./call-handler.ts";
import { STATUS_CODES } from "./node-http.ts";

/**
 * Sends a final error response on a connection and closes it. Input is still read and discarded for `lingerMs`
 * milliseconds: closing a socket with unread input resets the connection, and the client could lose the response.
 */
export async function sendAndClose(
  { status, headers, body: content }: NodeResponse,
  socket: Duplex,
  lingerMs: number,
): Promise<void> {
  const body = await readBody(content);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const fields = [
    ...Object.entries(headers),
    ["content-length", `${body.length}`],
    ["date", new Date().toUTCString()],
    ["connection", "close"],
  ];
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

/** Without a `Response`: the first one would load Node's `fetch`. */
async function readBody(content: NodeResponse["body"]): Promise<Buffer> {
  const body = content === null ? "" : toWebBody(content);
  if (typeof body === "string") return Buffer.from(body);
  return body instanceof Uint8Array ? Buffer.from(body) : buffer(body);
}
