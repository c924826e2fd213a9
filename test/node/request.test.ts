import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { callerAddress } from "../../lib/node/request.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { serveUnlimited as serve } from "./fixture.ts";

test.each(["x:99999", "1.2.3.4.5"])("the host %s gets 400, and no other connection does", async (host) => {
  const { url, head } = await serve();
  const connection = openSocket(url);
  connection.send(`GET /a"b HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const { responses } = await connection.closed();
  expect(responses.map(({ status }) => status)).toEqual([400]);
  const other = openSocket(url);
  other.send(`GET /v1/store/orders HTTP/1.1\r\n${head}\r\n`);
  expect((await other.responses(1)).responses[0]?.status).toBe(200);
});

test("Expect: 100-continue gets 100 before the body and the response after it", async () => {
  const { url, head } = await serve();
  const connection = openSocket(url);
  connection.send(`${CANCEL}\r\n${head}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
  expect((await connection.responses(1)).responses.map(({ status }) => status)).toEqual([100]);
  connection.send("hello");
  expect((await connection.responses(2)).responses.map(({ status }) => status)).toEqual([100, 204]);
  connection.send(`DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}Expect: 100-continue\r\n\r\n`);
  expect((await connection.responses(4)).responses.at(-1)?.status).toBe(409);
});

const CANCEL = "DELETE /v1/store/orders/1 HTTP/1.1";

test.each([
  ["another expectation", CANCEL, "Expect: tea", 417, "expectation_failed"],
  ["CONNECT", "CONNECT x:443 HTTP/1.1", "A: b", 400, "bad_request"],
  ["a body above 10 MB", CANCEL, "Content-Length: 10485761", 413, "request_too_large"],
  ["an announced one", CANCEL, "Expect: 100-continue\r\nContent-Length: 10485761", 413, "request_too_large"],
])(
  "%s gets the Error body and the rate limit headers at once, and the connection is closed",
  async (_name, start, field, status, code) => {
    const { url, head, store } = await serve();
    const connection = openSocket(url);
    connection.send(`${start}\r\n${head}${field}\r\n\r\n`);
    const { responses } = await connection.closed();
    expect(responses).toHaveLength(1);
    const [response] = responses;
    expect(response?.status).toBe(status);
    expect(JSON.parse(response?.body ?? "")).toMatchObject({ code, status });
    for (const name of ["limit", "remaining", "reset"])
      expect(response?.headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/);
    expect((await store.orders.find(1n))?.status).toBe("pending");
  },
);

test("an endless chunked body gets 413 after 10 MB, and the connection is closed", async () => {
  const { url, head, store } = await serve();
  const connection = openSocket(url);
  connection.send(`DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`);
  const part = `100000\r\n${"a".repeat(1024 * 1024)}\r\n`;
  let sent = 0;
  const more = () => {
    for (let fits = true; fits && sent < 1_000; sent++) fits = connection.socket.write(part);
  };
  connection.socket.on("drain", more);
  more();
  const { responses } = await connection.closed();
  expect(responses.map(({ status }) => status)).toEqual([413]);
  expect(sent).toBeGreaterThan(10);
  expect((await store.orders.find(1n))?.status).toBe("pending");
});

test("a connection is closed after its error response even if the client keeps sending", async () => {
  const { url } = await serve();
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.on("error", () => {}).resume();
  socket.write("hello\r\n\r\n");
  await once(socket, "end");
  const talking = setInterval(() => socket.write("more"), 10);
  await new Promise((resolve) => socket.once("close", resolve));
  clearInterval(talking);
});

test("TRACE and QUERY are requests like others, and none echoes the key", async () => {
  const { url, head } = await serve();
  const connection = openSocket(url);
  const list = "/v1/store/orders";
  for (const start of [`TRACE ${list}`, `QUERY ${list}`, `OPTIONS ${list}`, "OPTIONS *"])
    connection.send(`${start} HTTP/1.1\r\n${head}\r\n`);
  const { responses } = await connection.responses(4);
  expect(responses.map(({ status }) => status)).toEqual([405, 405, 405, 404]);
  expect(responses[0]?.body).not.toContain("Bearer");
});

test.each([
  "DELETE /v1/pets/%2e%2e/store/orders/1",
  "DELETE /v1\\store\\orders\\1",
  "DELETE http://x/v1/pets/../store/orders/1",
])("%s gets 400 and cancels nothing", async (start) => {
  const { url, head, store } = await serve();
  const connection = openSocket(url);
  connection.send(`${start} HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  const { responses } = await connection.closed();
  expect(responses.map(({ status }) => status)).toEqual([400]);
  expect((await store.orders.find(1n))?.status).toBe("pending");
});

describe("callerAddress()", () => {
  const addressOf = (forwarded: string | undefined, proxies = 1) => {
    const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
    const req = { headers, socket: { remoteAddress: "192.0.2.7" } } as unknown as IncomingMessage;
    return callerAddress(req, proxies).address;
  };

  test("it is the last forwarded entry behind a proxy, and otherwise that of the connection", () => {
    expect(addressOf("198.51.100.1, 192.0.2.1")).toBe("192.0.2.1");
    expect(addressOf("[2001:db8::1]:4711")).toBe("[2001:db8::1]:4711");
    expect(addressOf("192.0.2.1", 0)).toBe("192.0.2.7");
    for (const none of [undefined, "", " ", "192.0.2.1,"]) expect(addressOf(none)).toBe("192.0.2.7");
  });

  test("an entry that is too long to be an address gives no address", () => {
    expect(addressOf(`192.0.2.1, ${"a".repeat(81)}`)).toBeUndefined();
  });

  test("a header is not kept in memory for the address in it", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const forwarded = (id: number) => `${"a".repeat(15_000)}, 2001:db8:85a3:8d3:1319:8a2e:370:${id}`;
    collect();
    const before = process.memoryUsage().heapUsed;
    const kept = Array.from({ length: 2_000 }, (_, id) =>
      addressOf(Buffer.from(forwarded(id)).toString("latin1")),
    );
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(5 * 2 ** 20);
    expect(new Set(kept).size).toBe(2_000);
  });
});
