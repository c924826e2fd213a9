import { once } from "node:events";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { defineDomains } from "../../lib/domains/parse.ts";
import { hostTable } from "../../lib/domains/routing.ts";
import { defineOperation } from "../../lib/http/define-operation.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import type { Handler } from "../../lib/http/options.ts";
import { docsPage } from "../../lib/node/docs/docs-page.ts";
import { type NodeHandlerOptions, toNodeHandler } from "../../lib/node/handler.ts";
import { createHandlerFixture, manyOrders, readerOf } from "../http/fixture.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { listen, serve } from "./fixture.ts";

/** The service in a plain `node:http` server. */
async function mount(options: NodeHandlerOptions = {}) {
  const service = await createHandlerFixture();
  const addresses: (string | undefined)[] = [];
  const url = await listen(
    toNodeHandler((request, context) => {
      addresses.push(context?.address);
      return service.handler(request, context);
    }, options),
  );
  return { ...service, addresses, url };
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

test.each([
  ["a cancel without a body", "DELETE", "/v1/store/orders/1", undefined, 204],
  ["a cancel with a body", "DELETE", "/v1/store/orders/1", "{}", 204],
  ["an operation that reads its body and its query", "POST", "/v1/echo?word=a", '"b"', 200],
])("%s works in a framework that changes the request for the time of the call", async (...given) => {
  const [, method, path, body, status] = given;
  const { handler, key } = await createHandlerFixture({ operations: [...OPERATIONS, echo] });
  for (const each of [handler, (...call: Parameters<Handler>) => handler(...call)]) {
    const serve = toNodeHandler(each);
    const url = await listen((req, res) => {
      const { url: received = "", rawHeaders } = req;
      req.url = received.replace("/mounted", "");
      serve(req, res);
      Object.assign(req, { url: received, method: "GET", headers: {}, rawHeaders: [] });
      res.on("close", () => Object.assign(req, { rawHeaders }));
    });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${url}/mounted${path}`, { method, headers, body: body ?? null });
    expect(await response.text()).toBe(status === 200 ? "ab" : "");
    expect(response.status).toBe(status);
    if (status === 204) break;
  }
});

test("a header is read as a middleware has left it, and one that was sent twice is joined", async () => {
  const { handler, key } = await createHandlerFixture({ operations: [readHeaders] });
  for (const each of [handler, (...call: Parameters<Handler>) => handler(...call)]) {
    let change: (req: IncomingMessage) => void;
    const serveOrders = toNodeHandler(each);
    const url = await listen((req, res) => {
      change(req);
      serveOrders(req, res);
    });
    const send = async (fields: string, changed: typeof change = () => {}) => {
      change = changed;
      const connection = openSocket(url);
      connection.send(`GET /v1/headers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields}\r\n`);
      const { responses } = await connection.closed();
      return responses[0]?.status === 200 ? responses[0].body : responses[0]?.status;
    };
    const set = (authorization: string | undefined) => (req: IncomingMessage) =>
      void Object.assign(req.headers, { authorization });
    const bearer = `Authorization: Bearer ${key}\r\n`;
    expect(await send("", set(`Bearer ${key}`))).toBe("[null,null,null,null]");
    expect(await send("Authorization: Basic eA==\r\n", set(`Bearer ${key}`))).toBe("[null,null,null,null]");
    expect(await send(bearer, set("Bearer x"))).toBe(401);
    expect(await send(bearer, set(undefined))).toBe(401);
    expect(await send(bearer, (req) => void delete req.headers.authorization)).toBe(401);
    expect(await send(bearer + bearer)).toBe(401);
    const twice = "Cookie: a=1\r\nX-A: 1\r\nReferer: b\r\nx-a: 2\r\nCookie: b=2\r\nReferer: c\r\n";
    expect(await send(bearer + twice)).toBe('["1, 2","a=1; b=2","b, c",null]');
    // The request of an adapter, such as serverless-http.
    const adapted = (req: IncomingMessage) => void Object.assign(req, { rawHeaders: [] });
    expect(await send(`${bearer}X-A: 1\r\n`, adapted)).toBe('["1",null,null,null]');
  }
});

const readHeaders = defineOperation({
  ...{ id: "headers", method: "GET", path: "/headers", tag: "a", summary: "a", description: "a", errors: [] },
  success: { status: 200, description: "a" },
  async handle({ request }) {
    const values = ["X-A", "cookie", "referer", "constructor"].map((name) => request.headers.get(name));
    // As in the log of an operation. The headers of a Request can be written, too.
    JSON.stringify(request.headers);
    return { status: 200, body: JSON.stringify(values) };
  },
});

test.each([
  ["/shop/v1/store/orders?a=/b", "www.example.com", "https://orders.example.com/shop/v1/store/orders?a=/b"],
  ["http://www.example.com/shop/docs", "www.example.com", "https://orders.example.com/shop/docs"],
  ["/shop", "orders.example.com", "./shop/docs"],
  ["/shop?a=/b", "orders.example.com", "./shop/docs"],
  ["/shop/?a", "orders.example.com", "docs"],
])("a redirect of %s at %s leads below the path that the framework removes", async (path, host, location) => {
  const redirects = [{ from: "www.example.com", to: "orders.example.com" }];
  const table = hostTable(defineDomains({ primary: "orders.example.com", redirects }, { plan: "pro" }));
  const { handler } = await createHandlerFixture({ documents: docsPage(), hosts: () => table });
  for (const each of [handler, (...call: Parameters<Handler>) => handler(...call)]) {
    const serveOrders = toNodeHandler(each);
    const url = await listen((req, res) => {
      const { url: originalUrl = "" } = req;
      const stripped = originalUrl.replace("/shop", "");
      serveOrders(Object.assign(req, { originalUrl, url: stripped.replace(/^(?!\/|http)/, "/") }), res);
    });
    const connection = openSocket(url);
    connection.send(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\nConnection: close\r\n\r\n`,
    );
    const { responses } = await connection.closed();
    expect(responses[0]?.headers.get("location")).toBe(location);
  }
});

/** Replies with its query and its body. */
const echo = defineOperation({
  ...{ id: "echo", method: "POST", path: "/echo", tag: "a", summary: "a", description: "a", errors: [] },
  success: { status: 200, description: "a" },
  query: z.object({ word: z.string() }),
  body: z.string(),
  handle: async ({ query, body }) => ({
    ...{ status: 200, headers: { "content-type": "text/plain" } },
    body: query.word + body,
  }),
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

/** Serves a handler over a socket. Returns what sends it bytes. */
const serveRaw = async (handler: Handler) => (await serve({ wrap: () => handler })).raw;

test("a handler from createHandler is called without a Request, and its response leaves in one write", async () => {
  const { handler, key } = await createHandlerFixture();
  let calls = 0;
  const { raw: send, port } = await serve({
    wrap: () =>
      Object.assign(() => Promise.reject(new Error("not called")), {
        respond: (...given: Parameters<NonNullable<Handler["respond"]>>) => {
          calls++;
          return handler.respond?.(...given) ?? Promise.reject(new Error("no respond"));
        },
      }),
  });
  const received: string[] = [];
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  socket.on("data", (data: string) => received.push(data));
  socket.write("GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(socket, "data");
  socket.destroy();
  expect(received).toHaveLength(1);
  expect(received[0]).toMatch(/^HTTP\/1.1 401 .*content-length: \d+\r\n.*\}$/s);
  const response = await send(
    `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
  );
  expect(response).toMatch(/^HTTP\/1.1 200 /);
  expect(calls).toBe(2);
});

test("a function that wraps a handler gets a complete Request", async () => {
  const { handler } = await createHandlerFixture();
  const requests: Request[] = [];
  const send = await serveRaw((request, context) => {
    requests.push(request);
    return handler(request, context);
  });
  await send("PATCH /v1/a?b=c HTTP/1.1\r\nHost: x:80\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n");
  const [request] = requests;
  expect(request).toBeInstanceOf(Request);
  expect([request?.method, request?.url]).toEqual(["PATCH", "http://x/v1/a?b=c"]);
  expect(request?.headers.get("x-a")).toBe("1, 2");
});

test("a Response with text that is not ASCII, and several cookies arrives unchanged", async () => {
  const headers = new Headers(COOKIES);
  const send = await serveRaw(async () => new Response("Größe", { status: 418, headers }));
  const response = await send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(response).toMatch(/^HTTP\/1.1 418 /);
  expect(response).toContain("set-cookie: a=1\r\nset-cookie: b=2\r\n");
  expect(response).toContain("Größe");
});

test("a middleware that reads the head when it is written finds the headers by their names", async () => {
  const { handler, key } = await createHandlerFixture();
  for (const each of [handler, async () => new Response("[]", { headers: COOKIES })]) {
    const serveOrders = toNodeHandler(each);
    const url = await listen((req, res) => {
      const { writeHead } = res;
      // As `on-headers` did before 1.1, with morgan, compression and express-session: a list has to be one of pairs.
      const change = (status: number, given: OutgoingHttpHeaders | [string, string][]) => {
        for (const [name, value] of Array.isArray(given) ? given : Object.entries(given))
          if (value !== undefined) res.setHeader(name, value);
        res.setHeader("x-length", `${res.getHeader("content-length")}`);
        return writeHead.call(res, status);
      };
      serveOrders(req, Object.assign(res, { writeHead: change }));
    });
    const response = await fetch(`${url}/v1/store/orders`, { headers: { authorization: `Bearer ${key}` } });
    expect([response.status, Array.isArray(await response.json())]).toEqual([200, true]);
    if (each === handler)
      expect(response.headers.get("x-length")).toBe(response.headers.get("content-length"));
    else expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  }
});

const COOKIES: [string, string][] = [
  ["set-cookie", "a=1"],
  ["set-cookie", "b=2"],
];

const TEXT = ["Größe ", "€ ", "🐕"];

test.each([
  ["a stream of text", () => ReadableStream.from(TEXT) as ReadableStream],
  ["a reader of text", () => readerOf(TEXT.map((text) => [text]))],
])("%s that is not ASCII arrives as UTF-8, from an operation and from a wrapper", async (_what, create) => {
  const text = defineOperation({
    ...{ id: "text", method: "GET", path: "/text", tag: "a", summary: "a", description: "a", errors: [] },
    success: { status: 200, description: "a" },
    handle: async () => ({ status: 200, body: create() }),
  });
  for (const wrap of [
    (own: Handler) => own,
    (own: Handler): Handler =>
      (request) =>
        own(request),
  ]) {
    const { url, headers } = await serve({ operations: [text], wrap });
    expect(await (await fetch(`${url}/v1/text`, { headers })).text()).toBe("Größe € 🐕");
  }
});

test.each([
  ["content-length", "2"],
  ["Transfer-Encoding", "gzip"],
  ["Connection", "keep-alive"],
  ["Keep-Alive", "timeout=99"],
])("a wrapper's header %s does not contradict the framing of the response", async (name, value) => {
  for (const body of ['"text"', new TextEncoder().encode('"text"'), new Blob(['"text"']).stream()]) {
    const reply = { status: 200, headers: { [name]: value }, body };
    const respond = async () => reply;
    const send = await serveRaw(Object.assign(async () => new Response(), { respond }) as Handler);
    const response = await send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(response).not.toContain(`${name}: ${value}`);
    expect(response.match(/^(?:content-length|transfer-encoding):/gim)).toHaveLength(1);
    expect(response).toContain('"text"');
  }
});

test("a body of another implementation of the Web standards arrives unchanged", async () => {
  const body = new Response("Größe").body;
  // Some have streams that are those of Node, too, whose `read` returns bytes at once.
  const stream = { getReader: () => body?.getReader(), read: () => null };
  const foreign = { status: 200, headers: new Headers(), body: stream };
  const send = await serveRaw(async () => foreign as unknown as Response);
  expect(await send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toContain("Größe");
});

test("the head of a stream leaves before its first part", async () => {
  const first = Promise.withResolvers<string>();
  const parts = (async function* () {
    yield new TextEncoder().encode(await first.promise);
  })();
  const url = await listen(toNodeHandler(async () => new Response(ReadableStream.from(parts))));
  const { status, body } = await fetch(url);
  first.resolve("data: 1");
  expect([status, await new Response(body).text()]).toEqual([200, "data: 1"]);
});

test("the length of text that is not ASCII is counted in bytes", async () => {
  const { handler, key } = await createHandlerFixture({ pets: async () => ({ name: "Größe" }) });
  const send = await serveRaw(handler);
  const response = await send(
    `GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
  );
  expect(response).toContain("content-length: 18\r\n");
  expect(response.endsWith('{"name":"Größe"}')).toBe(true);
});

test.each(["TRACE", "FROB"])("%s gets 501 through a function that wraps a handler", async (method) => {
  const { handler } = await createHandlerFixture();
  const send = await serveRaw((request, context) => handler(request, context));
  expect(await send(`${method} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toMatch(
    /^HTTP\/1.1 501 /,
  );
});

test.each([
  ["two hosts", "GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n"],
  ["two codings", "DELETE / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
  [
    "HTTP/1.0 in chunks",
    "DELETE / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
])("nothing that follows an ambiguous request, with %s, is executed", async (_name, bytes) => {
  const { key, url } = await mount();
  const head = `Host: x\r\nAuthorization: Bearer ${key}\r\n`;
  const connection = openSocket(url, ["GET"]);
  connection.send(`${bytes}DELETE /v1/store/orders/1 HTTP/1.1\r\n${head}\r\n`);
  const { responses } = await connection.closed();
  expect(responses.map(({ status }) => status)).toEqual([400]);
  const again = { method: "DELETE", headers: { authorization: `Bearer ${key}` } };
  expect((await fetch(`${url}/v1/store/orders/1`, again)).status).toBe(204);
});

test("the requests before an ambiguous one are answered, too", async () => {
  const { key, store, url } = await mount();
  await store.orders.place(manyOrders(3));
  const head = `Host: x\r\nAuthorization: Bearer ${key}\r\n`;
  const cancel = (id: number) => `DELETE /v1/store/orders/${id} HTTP/1.1\r\n${head}\r\n`;
  const connection = openSocket(url);
  connection.send(`${cancel(10)}${cancel(11)}GET / HTTP/1.1\r\nHost: y\r\n${head}\r\n${cancel(12)}`);
  const { responses } = await connection.closed();
  expect(responses.map(({ status }) => status)).toEqual([204, 204, 400]);
  const again = { method: "DELETE", headers: { authorization: `Bearer ${key}` } };
  expect((await fetch(`${url}/v1/store/orders/12`, again)).status).toBe(204);
});

test.each([
  ["of 20 MB", "/", 20, 413],
  ["for a path with a fragment", "/#", 20, 400],
])(
  "a client that sends its whole body first, %s, reads why it was rejected",
  async (_what, path, mb, status) => {
    const { url } = await mount();
    // The server waits for it a second: a busy machine may need longer.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    for (const method of ["POST", "DELETE"]) {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      const body = Buffer.alloc(mb * 1024 * 1024);
      socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`);
      const failed = once(socket, "error").then(([error]) => error);
      const sent = new Promise((resolve) => socket.write(body, () => resolve("sent")));
      expect(await Promise.race([sent, failed])).toBe("sent");
      const [response] = await Promise.race([once(socket, "data"), failed]);
      expect(`${response}`).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      socket.destroy();
    }
  },
);
