import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type NodeHandlerOptions, toNodeHandler } from "../../lib/node/node-handler.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { openSocket } from "../support/http/raw-connection.ts";

let close = () => {};
afterEach(() => close());

/** The service in a plain `node:http` server. */
async function mount(options: NodeHandlerOptions = {}) {
  const service = await createHandlerFixture();
  const addresses: (string | undefined)[] = [];
  const server = createServer(
    toNodeHandler((request, context) => {
      addresses.push(context?.address);
      return service.handler(request, context);
    }, options),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  close = () => server.close().closeAllConnections();
  const { port } = server.address() as AddressInfo;
  return { ...service, addresses, url: `http://127.0.0.1:${port}` };
}

test("a plain node:http server lists and cancels orders through the handler", async () => {
  const { addresses, key, url } = await mount();
  const headers = { authorization: `Bearer ${key}` };
  const list = await fetch(`${url}/v1/store/orders`, { headers });
  expect([list.status, (await list.text()).slice(0, 8)]).toEqual([200, '[{"id":1']);
  const cancel = await fetch(`${url}/v1/store/orders/1`, { method: "DELETE", headers });
  expect([cancel.status, cancel.headers.get("x-ratelimit-remaining")]).toEqual([204, "58"]);
  expect((await fetch(`${url}/v1/store/orders`)).status).toBe(401);
  expect(new Set(addresses)).toEqual(new Set(["127.0.0.1"]));
});

test("an ambiguous request gets 400 from the handler in a plain node:http server", async () => {
  const { url, key, store } = await mount();
  const headers = { authorization: `Bearer ${key}` };
  const { hostname, port } = new URL(url);
  const { request } = await import("node:http");
  const sent = request({ hostname, port, method: "DELETE", path: "/v1/store/orders/1#x", headers });
  sent.end();
  const [response] = (await once(sent, "response")) as [{ statusCode: number; resume(): void }];
  response.resume();
  expect(response.statusCode).toBe(400);
  expect((await store.orders.find(1n))?.status).toBe("pending");
});

test("the address is the last entry of X-Forwarded-For behind a trusted proxy only", async () => {
  const forwarded = { headers: { "x-forwarded-for": "203.0.113.9, 192.0.2.7" } };
  for (const [options, address] of [
    [{}, "127.0.0.1"],
    [{ trustProxy: true }, "192.0.2.7"],
  ] as const) {
    const { addresses, url } = await mount(options);
    await fetch(`${url}/v1/store/orders`, forwarded);
    await fetch(`${url}/v1/store/orders`);
    expect(addresses).toEqual([address, "127.0.0.1"]);
    close();
  }
});

test.each([
  ["whose body ends early", "Content-Length: 10\r\n\r\nabc"],
  ["whose body is not valid", "Transfer-Encoding: chunked\r\n\r\nzz\r\n"],
])("a request %s has no effect in a plain node:http server", async (_what, rest) => {
  const { url, key, store } = await mount();
  const connection = openSocket(url);
  connection.send(`DELETE /v1/store/orders/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${rest}`);
  connection.socket.end();
  await connection.closed();
  expect((await store.orders.find(1n))?.status).toBe("pending");
});

test("a request with a complete body is handled in a plain node:http server", async () => {
  const { url, key } = await mount();
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/store/orders/1`, { method: "DELETE", headers, body: "{}" });
  expect(response.status).toBe(204);
});
