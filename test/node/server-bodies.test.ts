import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { orderToJson } from "../../lib/orders/wire.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { manyOrders } from "../http/fixture.ts";
import { serve } from "./fixture.ts";

test("a list is not read further after its client disconnects", async () => {
  const store = createMemoryStore();
  const { events, headers, url } = await serve({ store });
  await store.orders.place(manyOrders(50_000));
  const controller = new AbortController();
  const response = await fetch(`${url}/v1/store/orders`, { headers, signal: controller.signal });
  await response.body?.getReader().read();
  controller.abort();
  await expect.poll(() => events).toHaveLength(1);
  expect(events).toMatchObject([{ status: 200, bodyEnd: "cancelled" }]);
});

test("a store that fails in the middle of a list ends the connection and leaves the array unclosed", async () => {
  const store = createMemoryStore();
  await store.orders.place(manyOrders(5_000));
  const { list } = store.orders;
  store.orders.list = async function* () {
    let pages = 0;
    for await (const page of list()) {
      if (++pages > 3) throw new Error("gone");
      yield page;
    }
  };
  const { raw, key, events } = await serve({ store });
  const response = await raw(
    `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
  expect(response).toMatch(/^HTTP\/1.1 200 /);
  expect(response.trimEnd()).not.toMatch(/\]$|\r\n0\r\n/);
  expect(events).toMatchObject([{ status: 200, bodyEnd: "failed" }]);
});

test("a list is read no faster than its client receives it", async () => {
  const store = createMemoryStore();
  const json = manyOrders(500).map(({ record }) => orderToJson(record));
  const page = { json: json.join(","), last: false };
  let pages = 0;
  store.orders.list = async function* () {
    while (pages < 400) {
      pages++;
      yield page;
    }
  };
  const { port, hostname, key } = await serve({ store });
  const socket = connect(port, hostname);
  socket.write(`GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await once(socket, "readable");
  let before: number;
  do {
    before = pages;
    await new Promise((resolve) => setTimeout(resolve, 400));
  } while (pages > before);
  expect(pages).toBeLessThan(400);
  socket.destroy();
});

test("a long document is complete for a client that reads slowly", async () => {
  const body = new Uint8Array(2_000_000);
  const documents = async () => ({ status: 200, body }) as const;
  const { url } = await serve({ documents });
  const response = await fetch(`${url}/long`);
  expect(response.headers.get("content-length")).toBe("2000000");
  let received = 0;
  for await (const chunk of response.body ?? []) {
    received += chunk.length;
    if (received < 500_000) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  expect(received).toBe(body.length);
});
