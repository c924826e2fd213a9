import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Duplex, Writable } from "node:stream";
import { waitForDrain } from "../core/concurrency.ts";
import { discardBody, isTextReader, type TextReader, toWebBody } from "../http/reply.ts";
import type { PlainResponse } from "../http/response.ts";
import { backgroundTurn } from "./connection.ts";
import { STATUS_CODES } from "./listen.ts";

/** The response of a handler: plain data or, from a function that wraps one, a `Response`. */
type HandlerResponse = PlainResponse | Response;

/** A response of Node, over HTTP/1 or HTTP/2. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** What tells whether the client has received or closed the response: over HTTP/2, only its stream does. */
function outputOf(res: NodeResponse): Writable {
  return "stream" in res ? res.stream : res;
}

/** Resolves when nothing more will be written. Closes the connection if the body fails, or a part takes `writeTimeoutMs`. */
export async function sendResponse(
  { status, headers, body }: HandlerResponse,
  res: ServerResponse,
  writeTimeoutMs: number,
): Promise<void> {
  // After somebody else has ended the response, such as a time limit of the framework, a write of ours is an error.
  if (typeof body !== "string") res.on("error", () => {});
  if (typeof body === "string") {
    const length = Buffer.byteLength(body);
    writeHead(res, status, headers, length);
    // Head and body leave in one write. If every character is one byte, Latin-1 is the same as UTF-8, but faster.
    res.end(body, length === body.length ? "latin1" : "utf8");
  } else if (body instanceof Uint8Array) {
    writeHead(res, status, headers, body.length);
    await writeSlices(body, res, writeTimeoutMs);
  } else {
    // Then the next line throws: somebody else has responded, such as a time limit of the framework.
    if (res.headersSent && body !== null) void discardBody(body);
    writeHead(res, status, headers);
    if (body === null) res.end();
    else if (res.req.method === "HEAD") {
      res.end();
      void discardBody(body);
    } else await pump(body, res, writeTimeoutMs);
  }
  const output = outputOf(res);
  if ((output === res ? (res.socket?.writableLength ?? 0) : output.writableLength) > 0)
    await waitForClient(res, "finish", writeTimeoutMs);
}

/** Without a length Node sends the body in chunks, and a short one in two writes. */
function writeHead(
  res: ServerResponse,
  status: number,
  headers: HandlerResponse["headers"],
  bodyBytes?: number,
): void {
  const fields = fieldsOf(headers);
  if (bodyBytes !== undefined) fields["content-length"] = `${bodyBytes}`;
  res.writeHead(status, fields);
}

/** The fields but those that a server sets itself. No list: a middleware that changes `writeHead` may not know one. */
function fieldsOf(headers: HandlerResponse["headers"]): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = {};
  // `Headers` have several values for cookies.
  for (const [name, value] of Symbol.iterator in headers ? headers : Object.entries(headers))
    if (!FRAMING.test(name))
      fields[name] = Object.hasOwn(fields, name) ? [fields[name] ?? "", value].flat() : value;
  return fields;
}

/** A function that wraps a handler can have changed the body, or passed on the response of another connection. */
const FRAMING = /^(?:content-length|transfer-encoding|connection|keep-alive)$/i;

/** The bytes that are written in one turn of the event loop, so that a long body does not delay other connections. */
const SLICE_BYTES = 256 * 1024;

async function writeSlices(body: Uint8Array, res: ServerResponse, writeTimeoutMs: number): Promise<void> {
  let start = 0;
  for (; start + SLICE_BYTES < body.length && !outputOf(res).destroyed; start += SLICE_BYTES) {
    await backgroundTurn();
    if (!res.write(body.subarray(start, start + SLICE_BYTES)))
      await waitForClient(res, "drain", writeTimeoutMs);
  }
  res.end(body.subarray(start));
}

async function pump(
  body: ReadableStream<Uint8Array> | TextReader,
  res: ServerResponse,
  writeTimeoutMs: number,
): Promise<void> {
  const reader = isTextReader(body) ? body : body.getReader();
  // A stream can take long for its first part, such as one of events: the client receives the head meanwhile.
  const head = reader === body ? undefined : setImmediate(() => res.flushHeaders());
  const stop = () => discardBody(reader);
  const output = outputOf(res);
  output.once("close", stop);
  // The client can have disconnected before the listener was added.
  if (output.destroyed) void stop();
  try {
    for (let state = await writePart(reader, res); state !== "end"; state = await writePart(reader, res))
      if (state === "full") await waitForClient(res, "drain", writeTimeoutMs);
    res.end();
  } catch {
    res.destroy();
  } finally {
    clearImmediate(head);
    output.off("close", stop);
  }
}

/** A function of its own, so that no part is kept in memory while the client receives it. */
async function writePart(
  reader: TextReader | ReadableStreamDefaultReader<Uint8Array>,
  res: ServerResponse,
): Promise<"written" | "full" | "end"> {
  const { done, value } = await reader.read();
  if (done) return "end";
  // The stream of a `Response` can have text, too.
  if (!Array.isArray(value)) return res.write(value as Uint8Array | string, "utf8") ? "written" : "full";
  let hasRoom = true;
  // Node sends the chunks together, after this turn. They are ASCII, for which Latin-1 is the fastest encoding.
  for (const chunk of value as readonly string[]) hasRoom = res.write(chunk, "latin1");
  return hasRoom ? "written" : "full";
}

/** Waits until the client has received the written bytes or has disconnected; disconnects it after the timeout. */
async function waitForClient(
  res: ServerResponse,
  event: "drain" | "finish",
  writeTimeoutMs: number,
): Promise<void> {
  const timer = setTimeout(() => res.destroy(), writeTimeoutMs);
  await waitForDrain(outputOf(res), event);
  clearTimeout(timer);
}

/** To close a socket with unread input would reset the connection, and the client could lose the response. */
export const LINGER_MS = 1_000;

export async function sendAndClose(
  { status, headers, body: content }: HandlerResponse,
  socket: Duplex,
): Promise<void> {
  const body = await readBody(content, socket);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const own = { "content-length": `${body.length}`, date: new Date().toUTCString(), connection: "close" };
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
  for (const [name, value] of Object.entries({ ...fieldsOf(headers), ...own }))
    for (const each of [value].flat()) head += `${name}: ${each}\r\n`;
  socket.end(Buffer.concat([Buffer.from(`${head}\r\n`, "latin1"), body]));
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

/** The longest body of a final response, in bytes. A function that wraps a handler can return one that never ends. */
const MAX_FINAL_BODY_BYTES = 16 * 1024 * 1024;

/** Reads a whole body, until the client has disconnected. Without a `Response`: the first one would load Node's `fetch`. */
async function readBody(content: HandlerResponse["body"], socket: Duplex): Promise<Buffer> {
  const body = content === null ? "" : toWebBody(content);
  if (typeof body === "string" || body instanceof Uint8Array) return Buffer.from(body);
  const reader = body.getReader();
  const stop = () => void discardBody(reader);
  socket.once("close", stop);
  if (socket.destroyed) stop();
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(Buffer.from(part.value));
      size += part.value.length;
      if (size > MAX_FINAL_BODY_BYTES) throw new RangeError("The body is too long.");
    }
    return Buffer.concat(parts);
  } finally {
    socket.off("close", stop);
    stop();
  }
}
