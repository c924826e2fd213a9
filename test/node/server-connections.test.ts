import { spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type EventEmitter, once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_CONNECTION_LIMITS } from "../../lib/node/limits.ts";
import { startNodeServer } from "../../lib/node/server.ts";
import { createHandlerFixture, manyOrders } from "../http/fixture.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { serveUnlimited as serve } from "./fixture.ts";

test("an HTTP/1.0 client gets the list without chunks, and the connection is closed", async () => {
  const { url, head, store } = await serve();
  await store.orders.place(manyOrders(5_000));
  const connection = openSocket(url);
  connection.send(`GET /v1/store/orders HTTP/1.0\r\n${head}Connection: keep-alive\r\n\r\n`);
  const { responses } = await connection.closed();
  expect(responses).toHaveLength(1);
  expect(responses[0]?.headers.has("transfer-encoding")).toBe(false);
  expect(JSON.parse(responses[0]?.body ?? "")).toHaveLength(5_004);
});

test("a reset of a connection that waits for its error response does not affect other connections", async () => {
  const { url, store, head } = await serve();
  const { promise: held, resolve: release } = Promise.withResolvers<{ ok: false; code: "order_not_found" }>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  store.orders.apply = () => {
    begin();
    return held;
  };
  const connection = openSocket(url);
  connection.send(`DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}\r\nCONNECT x:1 HTTP/1.1\r\n${head}\r\n`);
  await begun;
  connection.socket.resetAndDestroy();
  for (let attempt = 0; attempt < 5; attempt++) expect((await fetch(url)).status).toBe(401);
  release({ ok: false, code: "order_not_found" });
});

test("a half-closed client gets the whole response, and the connection is closed", async () => {
  const { url, head, store } = await serve();
  await store.orders.place(manyOrders(5_000));
  const { hostname, port } = new URL(url);
  /** Sends the bytes, half-closes the connection, and returns everything until the server closes it. */
  const exchange = (bytes: string) => text(connect(Number(port), hostname).end(bytes));

  const list = await exchange(`GET /v1/store/orders HTTP/1.0\r\n${head}\r\n`);
  expect(JSON.parse(list.slice(list.indexOf("\r\n\r\n")))).toHaveLength(5_004);
  expect(await exchange(`DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}\r\n`)).toMatch(/^HTTP\/1.1 204 /);
  expect(await exchange("")).toBe("");
  // A request that ends within its body is incomplete.
  const cut = `DELETE /v1/store/orders/10 HTTP/1.1\r\n${head}Content-Length: 5\r\n\r\nhel`;
  expect(await exchange(cut)).toMatch(/^HTTP\/1.1 400 /);
  expect(await store.orders.find(10n)).toMatchObject({ status: "pending" });
});

test("a list is not read if its client disconnects before it starts", async () => {
  const { url, head, store, events } = await serve();
  await store.orders.place(manyOrders(5_000));
  const { list } = store.orders;
  let pages = 0;
  store.orders.list = async function* () {
    for await (const page of list()) {
      pages++;
      yield page;
    }
  };
  const { admit } = store.accounts;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: admitted, resolve: onAdmit } = Promise.withResolvers<void>();
  store.accounts.admit = async (...args) => {
    onAdmit();
    await held;
    return admit(...args);
  };
  const connection = openSocket(url);
  connection.send(`GET /v1/store/orders HTTP/1.1\r\n${head}\r\n`);
  await admitted;
  connection.socket.resetAndDestroy();
  for (let attempt = 0; attempt < 5; attempt++) await fetch(url);
  release();
  await expect
    .poll(() => events.filter(({ operation }) => operation === "listOrders"))
    .toMatchObject([{ bodyEnd: "cancelled" }]);
  expect(pages).toBeLessThan(3);
});

test("a closing server sends Connection: close on connections in use and closes idle ones", async () => {
  const { url, head, server } = await serve();
  const inUse = openSocket(url);
  const unused = openSocket(url);
  const idle = openSocket(url);
  for (const connection of [inUse, idle]) {
    connection.send(`GET /v1/store/orders HTTP/1.1\r\n${head}\r\n`);
    const { responses } = await connection.responses(1);
    expect(responses[0]?.headers.get("connection")).toBe("keep-alive");
  }
  const closed = server.close({ graceMs: 60_000 });
  inUse.send(`DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}\r\n`.repeat(2));
  const { responses } = await inUse.closed();
  expect(responses.map(({ status }) => status)).toEqual([200, 204, 409]);
  const connections = responses.map(({ headers }) => headers.get("connection"));
  expect(connections).toEqual(["keep-alive", "keep-alive", "close"]);
  await Promise.all([unused.closed(), idle.closed(), closed]);
});

test("connections above the limit are closed and counted, and those within it are served", async () => {
  const { url, head, server } = await serve({ maxConnections: 2 });
  const connections = [openSocket(url), openSocket(url)];
  for (const connection of connections) {
    connection.send(`GET /v1/store/orders HTTP/1.1\r\n${head}\r\n`);
    await connection.responses(1);
  }
  expect(server.refusedConnections).toBe(0);
  expect((await openSocket(url).closed()).responses).toEqual([]);
  expect(server.refusedConnections).toBe(1);
  for (const connection of connections) {
    connection.send(`GET /v1/store/orders HTTP/1.1\r\n${head}\r\n`);
    expect((await connection.responses(2)).responses).toHaveLength(2);
  }
});

test("connections for which the process has no descriptors left are counted, and the others are served", async () => {
  const program = new URL("descriptors-process.ts", import.meta.url).pathname;
  const child = spawn("sh", ["-c", 'ulimit -n 80; exec "$0" "$1"', process.execPath, program], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill());
  const [url] = (await once(child, "message")) as [string];
  const connections = Array.from({ length: 100 }, () => openSocket(url));
  const count = async () => {
    child.send("count");
    return ((await once(child, "message")) as [number])[0];
  };
  await expect.poll(count).toBe(60);
  const served = connections.filter(({ socket }) => !socket.destroyed);
  served[0]?.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  expect((await served[0]?.responses(1))?.responses[0]?.status).toBe(200);
});

test("a connection that cannot be accepted does not end the process, and is counted", async () => {
  const { url, server } = await serve();
  let nodeServer: EventEmitter | undefined;
  const onRequest = (message: unknown) => {
    nodeServer = (message as { readonly server: EventEmitter }).server;
  };
  subscribe("http.server.request.start", onRequest);
  await fetch(url);
  unsubscribe("http.server.request.start", onRequest);
  for (let failure = 0; failure < 2; failure++) nodeServer?.emit("error", new Error("accept ENOBUFS"));
  expect(server.refusedConnections).toBe(2);
  expect((await fetch(url)).status).toBe(401);
});

test.each(Object.keys(DEFAULT_CONNECTION_LIMITS))("the limit %s is a positive whole number", async (name) => {
  const { handler } = await createHandlerFixture();
  for (const limit of [0, -1, 1.5, Number.NaN, 2 ** 31]) {
    await expect(startNodeServer({ handler, port: 0, limits: { [name]: limit } })).rejects.toMatchObject({
      code: "invalid_input",
      issues: [{ path: `limits.${name}`, message: expect.stringContaining("whole number") }],
    });
  }
});

test("pipelined requests are executed one after another and answered in order", async () => {
  const { url, head, store } = await serve();
  const orders = manyOrders(250);
  await store.orders.place(orders);
  const { apply } = store.orders;
  let running = 0;
  store.orders.apply = async (...args) => {
    expect(++running).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return apply(...args);
  };
  const connection = openSocket(url);
  const cancels = orders.flatMap(({ record }) => [
    `DELETE /v1/store/orders/${record.id}`,
    `DELETE /v1/store/orders/${record.id}`,
  ]);
  connection.send([...cancels, "GET /nowhere"].map((start) => `${start} HTTP/1.1\r\n${head}\r\n`).join(""));
  const { responses, rest } = await connection.responses(501);
  expect(responses.map(({ status }) => status)).toEqual([...orders.flatMap(() => [204, 409]), 404]);
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
