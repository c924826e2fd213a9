import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ConnectionLimits } from "../../lib/node/connection-limits.ts";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { openShop } from "../http/fixture.ts";
import { openSocket, type RawConnection } from "../support/http/raw-connection.ts";
import { tell } from "./run.ts";

const store = createMemoryStore();
const customLimits = { perMinute: 60_000, perDay: 10_000_000 };
const SHORT: Partial<ConnectionLimits> = {
  headersTimeoutMs: 400,
  requestTimeoutMs: 800,
  keepAliveTimeoutMs: 300,
  writeTimeoutMs: 400,
  lingerTimeoutMs: 50,
};

let shop: Awaited<ReturnType<typeof openShop>>;
let server: NodeServer;
let head: string;
beforeAll(async () => {
  shop = await openShop({ store, terms: { plan: "enterprise", customLimits } });
  head = `Host: x\r\nAuthorization: Bearer ${shop.key}\r\n`;
  const record = {
    petId: 9_223_372_036_854_775_807n,
    quantity: 1,
    shipDate: "2026-11-20T12:00:00Z",
    complete: false,
  };
  // More than the system's own buffers take, so that a reader can hold the server back.
  const ids = Array.from({ length: 200_000 }, (_, id) => BigInt(id) + 10n);
  await store.orders.place(ids.map((id) => ({ record: { id, ...record }, status: "pending" as const })));
});
afterEach(() => server.close({ graceMs: 0 }));

const cutOff = { heads: 0, bodies: 0, readers: 0, idle: 0 };
let slowest = 0;
afterAll(() =>
  tell("slow clients", {
    "heads that drip, cut off": cutOff.heads,
    "bodies that drip, cut off": cutOff.bodies,
    "readers below the least rate, cut off": cutOff.readers,
    "connections that say nothing, let go": cutOff.idle,
    "slowest answer to another client meanwhile, ms": Math.ceil(slowest),
  }),
);

async function serve(limits: Partial<ConnectionLimits>) {
  server = await startNodeServer({ handler: shop.handler, port: 0, limits });
}

/** Sends text character by character. True where nobody listened any more before it was out. */
async function drip(line: RawConnection, text: string): Promise<boolean> {
  for (const character of text) {
    if (!line.socket.writable) return true;
    line.send(character);
    await sleep(25);
  }
  return false;
}

/** Asks for the list, and reads so many bytes each time and so long after the last ones. */
function read(bytes: number, pause: number): { socket: Socket; heard: () => string; ended: Promise<void> } {
  const { hostname, port } = new URL(server.url);
  let tail = "";
  const onread = {
    buffer: Buffer.alloc(bytes),
    callback(size: number, buffer: Uint8Array) {
      tail = (tail + Buffer.from(buffer.subarray(0, size)).toString("latin1")).slice(-16);
      setTimeout(() => socket.resume(), pause);
      return false;
    },
  };
  const socket = connect({ port: Number(port), host: hostname, onread });
  socket.on("error", () => {}).write(`GET /v1/store/orders HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  return {
    socket,
    heard: () => tail,
    ended: new Promise((resolve) => socket.once("close", () => resolve())),
  };
}

/** Another client is served, whatever goes on. */
async function isServed(): Promise<void> {
  const began = performance.now();
  const response = await fetch(`${server.url}/v1/store/orders/1`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${shop.key}`, connection: "close" },
  });
  expect([204, 409]).toContain(response.status);
  slowest = Math.max(slowest, performance.now() - began);
}

test("a head that drips in is answered with 408 and cut off", async () => {
  await serve(SHORT);
  const lines = Array.from({ length: 200 }, () => openSocket(server.url));
  const dripping = lines.map((line) =>
    drip(line, `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(400)}`),
  );
  await isServed();
  for (const line of lines) {
    expect((await line.closed()).answers.map(({ status }) => status)).toEqual([408]);
    cutOff.heads++;
  }
  expect(await Promise.all(dripping)).not.toContain(false);
});

test("a body that drips in is answered with 408 and cut off, and its request is not carried out", async () => {
  await serve(SHORT);
  const lines = Array.from({ length: 200 }, () => openSocket(server.url));
  const dripping = lines.map((line) => {
    line.send(`DELETE /v1/store/orders/10 HTTP/1.1\r\n${head}Content-Length: 400\r\n\r\n`);
    return drip(line, "a".repeat(400));
  });
  await isServed();
  for (const line of lines) {
    expect((await line.closed()).answers.map(({ status }) => status)).toEqual([408]);
    cutOff.bodies++;
  }
  expect(await Promise.all(dripping)).not.toContain(false);
  expect((await store.orders.find(10n))?.status).toBe("pending");
});

test("a reader that takes nothing, or a little now and then, is cut off, and the list is not read on", async () => {
  await serve(SHORT);
  shop.events.length = 0;
  const readers = [
    ...Array.from({ length: 30 }, () => read(1_024, 60_000)),
    ...Array.from({ length: 30 }, () => read(512, 100)),
  ];
  await expect
    .poll(() => shop.events.filter(({ bodyEnd: ended }) => ended === "cancelled").length, { timeout: 30_000 })
    .toBe(readers.length);
  await isServed();
  cutOff.readers = readers.length;
  for (const { socket } of readers) socket.destroy();
});

test("a reader that is slow, but above the least rate, gets the whole list, however long it takes", async () => {
  const taking = 2_000;
  await serve({ ...SHORT, writeTimeoutMs: taking });
  const began = performance.now();
  const reader = read(64 * 1024, 12);
  await reader.ended;
  expect(reader.heard()).toMatch(/\]\r\n0\r\n\r\n$/);
  expect(performance.now() - began).toBeGreaterThan(taking);
});

test("a thousand connections that say nothing keep nobody from being served, and are let go", async () => {
  await serve({ ...SHORT, headersTimeoutMs: 2_000, requestTimeoutMs: 2_000 });
  const lines = Array.from({ length: 1_000 }, () => openSocket(server.url));
  const half = lines.slice(500);
  await Promise.all(
    half.map((line) => {
      line.send("GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n");
      return line.answers(1);
    }),
  );
  for (let turn = 0; turn < 20; turn++) await isServed();
  for (const line of lines.slice(0, 500)) {
    expect((await line.closed()).answers.map(({ status }) => status)).toEqual([408]);
    cutOff.idle++;
  }
  for (const line of half) {
    expect((await line.closed()).answers).toHaveLength(1);
    cutOff.idle++;
  }
});
