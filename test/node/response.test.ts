import { EventEmitter } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { orderList } from "../../lib/http/order-list.ts";
import { sendAndClose, sendResponse } from "../../lib/node/response.ts";
import type { OrderPage } from "../../lib/orders/order-store.ts";

/** Node keeps text of a megabyte outside of the heap. */
const PAGE_BYTES = 2 ** 19;

function heapAfterCollection(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}

/** A response of which the client receives one part, and then nothing more. It keeps nothing itself. */
function stalledResponse() {
  let written = 0;
  const res = Object.assign(new EventEmitter(), {
    ...{ socket: null, destroyed: false, req: { method: "GET" }, writeHead() {} },
    write() {
      written++;
      if (written === 1) setImmediate(() => res.emit("drain"));
      return false;
    },
    destroy() {
      res.destroyed = true;
      res.emit("close");
    },
    end() {},
  });
  return { res, isStalled: () => written === 2 };
}

async function* pages(): AsyncGenerator<OrderPage> {
  const json = () => Buffer.alloc(PAGE_BYTES, "1").toString("latin1");
  for (;;) yield { json: json(), last: false };
}

test("a page of the list is not kept in memory while the client receives it", async () => {
  const before = heapAfterCollection();
  const responses = Array.from({ length: 32 }, async () => {
    const { body } = await orderList({ type: "list", first: { json: "", last: false }, rest: pages() });
    const { res, isStalled } = stalledResponse();
    const sent = sendResponse({ status: 200, headers: {}, body }, res as unknown as ServerResponse, 60_000);
    while (!isStalled()) await new Promise(setImmediate);
    return { res, sent };
  });
  const stalled = await Promise.all(responses);
  const growth = heapAfterCollection() - before;
  for (const { res } of stalled) res.destroy();
  await Promise.all(stalled.map(({ sent }) => sent));
  expect(growth).toBeLessThan((stalled.length / 4) * PAGE_BYTES);
});

async function* slowParts(): AsyncGenerator<Uint8Array> {
  for (;;) {
    await new Promise(setImmediate);
    yield new Uint8Array(1);
  }
}

test.each([
  ["bytes", new Uint8Array(2 ** 20)],
  ["a stream", ReadableStream.from(slowParts())],
])(
  "%s whose response somebody else ends before its client has it do not end the process",
  async (_, body) => {
    // Without a connection, nothing is received.
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    const sent = sendResponse({ status: 200, headers: {}, body }, res, 60_000);
    res.end();
    const write = vi.spyOn(res, "write");
    await expect.poll(() => write.mock.calls.length).toBeGreaterThan(0);
    await new Promise(setImmediate);
    res.destroy().emit("close");
    await sent;
  },
);

/** The other end of a connection, and a stream without an end that says when it was cancelled. */
function endlessBody(part: Uint8Array) {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await new Promise(setImmediate);
        controller.enqueue(part);
      },
      cancel() {
        isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, isCancelled: () => isCancelled };
}

test("a stream is cancelled if somebody else has responded before it", async () => {
  const { body, isCancelled } = endlessBody(new Uint8Array(1));
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  res.end();
  await expect(sendResponse({ status: 200, headers: {}, body }, res, 60_000)).rejects.toThrow("headers");
  expect(isCancelled()).toBe(true);
});

test("a final response without an end is not kept in memory, and ends with its connection", async () => {
  const long = endlessBody(new Uint8Array(2 ** 20));
  const socket = new PassThrough();
  const sent = sendAndClose({ status: 200, headers: {}, body: long.body }, socket);
  await expect(sent).rejects.toThrow("too long");
  const slow = endlessBody(new Uint8Array(1));
  const closing = sendAndClose({ status: 200, headers: {}, body: slow.body }, socket);
  await new Promise(setImmediate);
  socket.destroy();
  await closing;
  expect([long.isCancelled(), slow.isCancelled()]).toEqual([true, true]);
});

test("the bytes of a final response and the text of its headers arrive unchanged", async () => {
  const socket = new PassThrough();
  const body = Uint8Array.of(0x1f, 0x8b, 0xff, 0x00);
  await sendAndClose({ status: 400, headers: { "x-name": "Gr\u00f6\u00dfe" }, body }, socket);
  const received = await buffer(socket);
  expect(received.subarray(-4)).toEqual(Buffer.from(body));
  expect(received.toString("latin1")).toContain("x-name: Gr\u00f6\u00dfe\r\ncontent-length: 4\r\n");
});
