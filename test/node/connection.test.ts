import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Connection, type HeldInput, MAX_HELD_BYTES, Slicer } from "../../lib/node/connection.ts";
import { openSocket } from "../support/http/raw-connection.ts";

let server: Server;
let heldInput: HeldInput;
let parsed: string[];
let unanswered: ServerResponse[];

beforeEach(async () => {
  server = createServer();
  heldInput = { bytes: 0, connections: new Set() };
  parsed = [];
  unanswered = [];
  const connections = new Map<Socket, Connection>();
  server.on("connection", (socket) => connections.set(socket, new Connection(socket, heldInput)));
  server.on("request", (req, res) => {
    parsed.push(req.url ?? "");
    unanswered.push(res);
    connections.get(req.socket)?.begin(req, res);
    req.resume();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const urlOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test("a pipelined request is parsed only after the request before it has been answered", async () => {
  const connection = openSocket(urlOf());
  connection.send([1, 2, 3].map((id) => `GET /${id} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""));
  for (const expected of [["/1"], ["/1", "/2"], ["/1", "/2", "/3"]]) {
    await expect.poll(() => parsed).toEqual(expected);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(parsed).toEqual(expected);
    unanswered.shift()?.end();
  }
  expect((await connection.responses(3)).responses).toHaveLength(3);
  expect(heldInput).toEqual({ bytes: 0, connections: new Set() });
});

const body = fc.constantFrom(
  "",
  "hello",
  "\r\n\r\n",
  "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n",
  "\r\n".repeat(50),
);
const request = fc.record({ body, chunked: fc.boolean(), emptyLines: fc.nat(2), trailer: fc.boolean() });
type RequestParts = typeof request extends fc.Arbitrary<infer Parts> ? Parts : never;

function format({ body, chunked, emptyLines, trailer }: RequestParts, id: number): string {
  const head = `${"\r\n".repeat(emptyLines)}POST /${id} HTTP/1.1\r\nHost: x\r\n`;
  if (!chunked) return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunk = body === "" ? "" : `${body.length.toString(16)}\r\n${body}\r\n`;
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n${trailer ? "A: b\r\n" : ""}\r\n`;
}

test("requests with any body, split anywhere, are parsed one at a time and in order", async () => {
  const inputs = fc.tuple(
    fc.array(request, { minLength: 1, maxLength: 6 }),
    fc.array(fc.integer({ min: 1, max: 120 })),
  );
  await fc.assert(
    fc.asyncProperty(inputs, async ([requests, sizes]) => {
      parsed.length = 0;
      const connection = openSocket(urlOf());
      const bytes = requests.map(format).join("");
      let most = 0;
      const answer = setInterval(() => {
        most = Math.max(most, unanswered.length);
        if (unanswered[0]?.req.complete === true) unanswered.shift()?.end();
      }, 0);
      for (let sent = 0, turn = 0; sent < bytes.length; turn++) {
        const size = sizes[turn] ?? bytes.length;
        connection.send(bytes.slice(sent, sent + size));
        sent += size;
        await new Promise((resolve) => setImmediate(resolve));
      }
      const { responses } = await connection.responses(requests.length);
      clearInterval(answer);
      connection.socket.destroy();
      expect(responses).toHaveLength(requests.length);
      expect(parsed).toEqual(requests.map((_, id) => `/${id}`));
      expect(most).toBe(1);
    }),
    { numRuns: 100 },
  );
});

test("above the limit of input that waits, the connection with the most of it is closed", async () => {
  const { connections } = heldInput;
  const closed: number[] = [];
  /** Connects, and sends a request that is not answered, with others that have to wait. */
  async function pipeline(count: number): Promise<void> {
    const before = connections.size;
    const { socket, send } = openSocket(urlOf());
    socket.on("close", () => closed.push(count));
    send("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(count));
    await expect.poll(() => connections.size).toBe(before + 1);
  }
  for (const count of [2, 40, 20]) await pipeline(count);
  heldInput.bytes = MAX_HELD_BYTES;
  const { send } = openSocket(urlOf());
  send("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(3));
  await expect.poll(() => closed).toEqual([40]);
  expect(connections.size).toBe(3);
});

test("nothing after a request with Connection: close is parsed", async () => {
  const connection = openSocket(urlOf());
  connection.send(
    "GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
  );
  await expect.poll(() => unanswered).toHaveLength(1);
  unanswered.shift()?.end();
  expect((await connection.closed()).responses).toHaveLength(1);
  expect(parsed).toEqual(["/1"]);
});

test.each([
  ["one at a time", "\r\n"],
  ["without carriage returns", "\n"],
  ["500 at a time", "\r\n".repeat(500)],
])("a connection that sends only empty lines after a request, %s, is closed", async (_how, lines) => {
  const connection = openSocket(urlOf());
  connection.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  await expect.poll(() => unanswered).toHaveLength(1);
  unanswered.shift()?.end();
  await connection.responses(1);
  const closed = once(connection.socket, "close");
  const drip = setInterval(() => connection.send(lines), 5);
  await closed;
  clearInterval(drip);
  expect(parsed).toEqual(["/1"]);
});

test("input that has to wait is not copied, however many requests it contains", async () => {
  const copied = [vi.spyOn(Buffer, "from"), vi.spyOn(Buffer, "concat")];
  const connection = openSocket(urlOf());
  connection.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100));
  for (let answered = 0; answered < 100; answered++) {
    await expect.poll(() => unanswered, { interval: 1 }).toHaveLength(1);
    unanswered.shift()?.end();
  }
  const inputs = copied.flatMap(({ mock }) => mock.calls.filter(([input]) => typeof input !== "string"));
  vi.restoreAllMocks();
  expect(inputs).toEqual([]);
});

const text = fc.string({ unit: fc.constantFrom("\r", "\n", "\r\n", "a"), maxLength: 40 });

test("a slice ends after the first empty line, or with the input", () => {
  const property = fc.property(text, fc.nat(8), (content, start) => {
    const input = Buffer.from(content);
    fc.pre(start <= input.length);
    const found = input.indexOf("\r\n\r\n", start);
    expect(new Slicer().findEnd(input, start)).toBe(found === -1 ? input.length : found + 4);
  });
  fc.assert(property, { numRuns: 2_000 });
});
