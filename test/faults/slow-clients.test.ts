import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ConnectionLimits } from "../../lib/node/limits.ts";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { openSocket, type RawConnection } from "../support/http/raw-connection.ts";
import { reportFigures } from "./run.ts";

const store = createMemoryStore();
const customLimits = { perMinute: 60_000, perDay: 10_000_000 };
const SHORT_TIMEOUTS: Partial<ConnectionLimits> = {
  headersTimeoutMs: 400,
  requestTimeoutMs: 800,
  keepAliveTimeoutMs: 300,
  writeTimeoutMs: 400,
};

let fixture: Awaited<ReturnType<typeof createHandlerFixture>>;
let server: NodeServer;
let head: string;
beforeAll(async () => {
  fixture = await createHandlerFixture({ store, plan: "enterprise", customLimits });
  head = `Host: x\r\nAuthorization: Bearer ${fixture.key}\r\n`;
  const record = {
    petId: 9_223_372_036_854_775_807n,
    quantity: 1,
    shipDate: "2026-11-20T12:00:00Z",
    complete: false,
  };
  // More than the buffers of the operating system hold, so that a slow reader causes back-pressure.
  const ids = Array.from({ length: 200_000 }, (_, id) => BigInt(id) + 10n);
  await store.orders.place(ids.map((id) => ({ record: { id, ...record }, status: "pending" as const })));
});
afterEach(() => server.close({ graceMs: 0 }));

let slowest = 0;
afterAll(() =>
  reportFigures("slow clients", {
    "slowest response to another client meanwhile, ms": Math.ceil(slowest),
  }),
);

async function serve(limits: Partial<ConnectionLimits>) {
  server = await startNodeServer({ handler: fixture.handler, port: 0, limits });
}

/** Sends text character by character. Resolves to true if the connection was closed before the end. */
async function drip(connection: RawConnection, text: string): Promise<boolean> {
  for (const character of text) {
    if (!connection.socket.writable) return true;
    connection.send(character);
    await sleep(25);
  }
  return false;
}

/** Requests the list and reads `bytes` at a time, with a pause of `pauseMs` after each read. */
function readList(
  bytes: number,
  pauseMs: number,
): { socket: Socket; tail: () => string; ended: Promise<void> } {
  const { hostname, port } = new URL(server.url);
  let tail = "";
  const onread = {
    buffer: Buffer.alloc(bytes),
    callback(size: number, buffer: Uint8Array) {
      tail = (tail + Buffer.from(buffer.subarray(0, size)).toString("latin1")).slice(-16);
      setTimeout(() => socket.resume(), pauseMs);
      return false;
    },
  };
  const socket = connect({ port: Number(port), host: hostname, onread });
  socket.on("error", () => {}).write(`GET /v1/store/orders HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  return {
    socket,
    tail: () => tail,
    ended: new Promise((resolve) => socket.once("close", () => resolve())),
  };
}

async function expectServed(): Promise<void> {
  const startedAt = performance.now();
  const response = await fetch(`${server.url}/v1/store/orders/1`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${fixture.key}`, connection: "close" },
  });
  expect([204, 409]).toContain(response.status);
  slowest = Math.max(slowest, performance.now() - startedAt);
}

test.each<[string, () => string]>([
  ["heads", () => "GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nA: "],
  ["bodies", () => `DELETE /v1/store/orders/10 HTTP/1.1\r\n${head}Content-Length: 400\r\n\r\n`],
])("slow %s get 408, the connections are closed, and the requests have no effect", async (_kind, begin) => {
  await serve(SHORT_TIMEOUTS);
  const connections = Array.from({ length: 200 }, () => openSocket(server.url));
  const dripping = connections.map((connection) => {
    connection.send(begin());
    return drip(connection, "a".repeat(400));
  });
  await expectServed();
  for (const connection of connections) {
    expect((await connection.closed()).responses.map(({ status }) => status)).toEqual([408]);
  }
  expect(await Promise.all(dripping)).not.toContain(false);
  expect((await store.orders.find(10n))?.status).toBe("pending");
});

test("a client that reads below the minimum rate is disconnected, and the list is not read further", async () => {
  await serve({ writeTimeoutMs: 400 });
  fixture.events.length = 0;
  const readers = [
    ...Array.from({ length: 30 }, () => readList(1_024, 60_000)),
    ...Array.from({ length: 30 }, () => readList(512, 100)),
  ];
  await expect
    .poll(() => fixture.events.filter(({ bodyEnd }) => bodyEnd === "cancelled").length, { timeout: 30_000 })
    .toBe(readers.length);
  await expectServed();
  for (const { socket } of readers) socket.destroy();
});

test("a slow client above the minimum rate gets the whole list", async () => {
  const writeTimeoutMs = 2_000;
  await serve({ ...SHORT_TIMEOUTS, writeTimeoutMs });
  const startedAt = performance.now();
  const reader = readList(64 * 1024, 12);
  await reader.ended;
  expect(reader.tail()).toMatch(/\]\r\n0\r\n\r\n$/);
  expect(performance.now() - startedAt).toBeGreaterThan(writeTimeoutMs);
});

test("a thousand silent connections are closed, and other clients are served meanwhile", async () => {
  await serve({ ...SHORT_TIMEOUTS, headersTimeoutMs: 2_000, requestTimeoutMs: 2_000 });
  const connections = Array.from({ length: 1_000 }, () => openSocket(server.url));
  const keptAlive = connections.slice(500);
  await Promise.all(
    keptAlive.map((connection) => {
      connection.send("GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n");
      return connection.responses(1);
    }),
  );
  for (let attempt = 0; attempt < 20; attempt++) await expectServed();
  for (const connection of connections.slice(0, 500)) {
    expect((await connection.closed()).responses.map(({ status }) => status)).toEqual([408]);
  }
  for (const connection of keptAlive) {
    expect((await connection.closed()).responses).toHaveLength(1);
  }
});
