import { once } from "node:events";
import { expect, test } from "vitest";
import { openSocket } from "../support/http/raw-connection.ts";
import { manyOrders, serve } from "./fixture.ts";

test("pipelined requests are executed one after another and answered in order", async () => {
  const { url, head, store } = await serve();
  await store.orders.place(manyOrders(3_000));
  const { apply } = store.orders;
  let running = 0;
  store.orders.apply = async (...args) => {
    expect(++running).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return apply(...args);
  };
  const connection = openSocket(url);
  const cancels = manyOrders(3_000).flatMap(({ record }) => [
    `DELETE /v1/store/orders/${record.id}`,
    `DELETE /v1/store/orders/${record.id}`,
  ]);
  connection.send([...cancels, "GET /nowhere"].map((start) => `${start} HTTP/1.1\r\n${head}\r\n`).join(""));
  const { responses, rest } = await connection.responses(6_001);
  expect(responses.map(({ status }) => status)).toEqual([
    ...manyOrders(3_000).flatMap(() => [204, 409]),
    404,
  ]);
  expect(rest).toBe("");
});

test("the socket is not read while a pipelined request waits for its turn", async () => {
  const { url, head, store, events } = await serve();
  store.orders.apply = () => new Promise(() => {});
  const connection = openSocket(url);
  await once(connection.socket, "connect");
  const batch = `DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}\r\n`.repeat(1_000);
  const maxBytes = 48 * 1024 * 1024;
  let taken = 0;
  let before: number;
  const more = () => {
    while (taken < maxBytes && connection.socket.write(batch)) taken += batch.length;
  };
  connection.socket.on("drain", () => {
    taken += batch.length;
    more();
  });
  more();
  do {
    before = taken;
    await new Promise((resolve) => setTimeout(resolve, 500));
  } while (taken > before);
  // The buffers of the operating system hold less than this.
  expect(taken).toBeLessThan(maxBytes / 2);
  expect(events).toEqual([]);
});

test("a pipelined request that was sent in time does not time out while an earlier one is in progress", async () => {
  const { url, head, store } = await serve({ headersTimeoutMs: 600, requestTimeoutMs: 600 });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { apply } = store.orders;
  store.orders.apply = async (...args) => {
    await released;
    return apply(...args);
  };
  const connection = openSocket(url);
  const cancel = `DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}\r\n`;
  const withBody = cancel.replace("\r\n\r\n", "\r\nContent-Length: 5\r\n\r\n");
  connection.send(`${cancel}${withBody}he`);
  await new Promise((resolve) => setTimeout(resolve, 20));
  connection.send(`llo${cancel.slice(0, 30)}`);
  await new Promise((resolve) => setTimeout(resolve, 20));
  connection.send(cancel.slice(30));
  await new Promise((resolve) => setTimeout(resolve, 1_800));
  release();
  expect((await connection.responses(3)).responses.map(({ status }) => status)).toEqual([204, 409, 409]);
});

test("a malformed request does not suppress the response to the request before it", async () => {
  const { url, head } = await serve();
  const connection = openSocket(url);
  connection.send(`DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}\r\nnothing\r\n\r\n`);
  expect((await connection.closed()).responses.map(({ status }) => status)).toEqual([204, 400]);
});
