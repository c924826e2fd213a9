import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { orderList } from "../../lib/http/order-list.ts";
import { sendResponse } from "../../lib/node/response.ts";
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
    const { body } = await orderList({ first: { json: "", last: false }, rest: pages() });
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
