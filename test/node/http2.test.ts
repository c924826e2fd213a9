import { once } from "node:events";
import { type ClientHttp2Session, connect, createSecureServer, createServer } from "node:http2";
import { connect as connectSocket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { defineOperation } from "../../lib/http/define-operation.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import type { Handler } from "../../lib/http/options.ts";
import { toNodeHandler } from "../../lib/node/handler.ts";
import { createHandlerFixture, manyOrders } from "../http/fixture.ts";
import { createTestAuthority } from "../support/certificates.ts";
import { listenOn } from "../support/free-port.ts";

const echo = defineOperation({
  ...{ id: "echo", method: "POST", path: "/echo", tag: "a", summary: "a", description: "a", errors: [] },
  success: { status: 200, description: "a" },
  body: z.object({ word: z.string() }),
  handle: async ({ body }) => ({ status: 200, body: JSON.stringify(body.word) }),
});

/** Serves a fixture over HTTP/2 until the end of the test. */
async function serve(isSecure: boolean, wrap = (handler: Handler): Handler => handler) {
  const shop = await createHandlerFixture({ operations: [...OPERATIONS, echo] });
  const listener = toNodeHandler(wrap(shop.handler));
  const authority = createTestAuthority();
  const server = isSecure
    ? createSecureServer(authority.issue(["localhost"]), listener)
    : createServer(listener);
  const port = await listenOn(server);
  const session = connect(`http${isSecure ? "s" : ""}://localhost:${port}`, {
    ca: authority.cert,
    lookup: (_host, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]),
  });
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  const authorization = `Bearer ${shop.key}`;
  return {
    ...shop,
    port,
    session,
    send: (...given: Sent) => send(session, { authorization, ...given[0] }, given[1]),
  };
}

type Sent = [head: Record<string, string>, body?: string];

async function send(session: ClientHttp2Session, head: Sent[0], body?: string) {
  const stream = session.request(head, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [headers] = (await once(stream, "response")) as [Record<string, string | number>];
  return { status: headers[":status"], headers, text: await text(stream) };
}

const LIST = "/v1/store/orders";
const JSON_TYPE = { "content-type": "application/json" };

test.each([
  ["in clear text", false],
  ["with TLS", true],
])("a server of node:http2 %s serves the API", async (_what, isSecure) => {
  for (const wrap of [
    undefined,
    (own: Handler): Handler =>
      (request, context) => {
        expect(request.url).toMatch(isSecure ? /^https:/ : /^http:/);
        return own(request, context);
      },
  ]) {
    const { send } = await serve(isSecure, wrap);
    const list = await send({ ":path": LIST });
    expect([list.status, list.text.slice(0, 8)]).toEqual([200, '[{"id":1']);
    expect(list.headers["x-ratelimit-remaining"]).toBe("59");
    expect(await send({ ":path": LIST, ":method": "HEAD" })).toMatchObject({ status: 200, text: "" });
    expect(await send({ ":path": LIST, authorization: "" })).toMatchObject({ status: 401 });
    expect(await send({ ":path": `${LIST}/1`, ":method": "DELETE" })).toMatchObject({
      status: 204,
      text: "",
    });
    const other = { ":path": `${LIST}/9223372036854775807`, ":method": "DELETE" };
    expect((await send(other, "{}")).status).toBe(204);
    const post = { ":path": "/v1/echo", ":method": "POST" };
    expect(await send({ ...post, ...JSON_TYPE }, '{"word":"Größe"}')).toMatchObject({ text: '"Größe"' });
    expect((await send(post, "{}")).status).toBe(415);
  }
});

test.each([
  ["a host that differs from the authority", { ":path": LIST, ":authority": "a.example", host: "b.example" }],
  ["an authority that is none", { ":path": LIST, ":authority": "x:99999" }],
  ["a dot segment", { ":path": "/v1/../v1/store/orders" }],
])("%s gets 400 over HTTP/2", async (_what, head) => {
  const { send } = await serve(false);
  expect((await send(head)).status).toBe(400);
});

test("the handler gets the authority, the address and no pseudo-header over HTTP/2", async () => {
  let request: Request | undefined;
  let address: string | undefined;
  const { send } = await serve(false, () => async (given, context) => {
    request = given;
    address = context?.address;
    return new Response(ReadableStream.from(["Größe"]) as ReadableStream, {
      headers: [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["connection", "close"],
      ],
    });
  });
  const { headers, text } = await send({ ":path": "/v1/a?b=c", ":authority": "x.example:80", "x-a": "1" });
  expect([request?.url, address]).toEqual(["http://x.example/v1/a?b=c", "127.0.0.1"]);
  expect([...(request?.headers.keys() ?? [])]).toEqual(["authorization", "x-a"]);
  expect([headers["set-cookie"], text]).toEqual([["a=1", "b=2"], "Größe"]);
});

test("a stream whose body is too large ends with its response over HTTP/2", async () => {
  const { session, key } = await serve(false);
  const head = { ":path": "/v1/echo", ":method": "POST", authorization: `Bearer ${key}`, ...JSON_TYPE };
  const stream = session.request(head);
  stream.end(Buffer.alloc(1_000_000));
  const [{ ":status": status }] = await once(stream, "response");
  await once(stream.resume(), "close");
  expect(status).toBe(413);
});

/** A frame of HTTP/2 on the first stream (RFC 9113, section 4.1). */
function frame(type: number, flags: number, payload: Uint8Array | string, streamId = 1): Buffer {
  const body = Buffer.from(payload as string);
  return Buffer.concat([Buffer.from([0, 0, body.length, type, flags, 0, 0, 0, streamId]), body]);
}

/** Header fields without compression (RFC 7541, section 6.2.2). */
function fields(head: Record<string, string>): Buffer {
  const text = (value: string) => [value.length, ...Buffer.from(value)];
  return Buffer.from(Object.entries(head).flatMap(([name, value]) => [0, ...text(name), ...text(value)]));
}

/** The code of a RST_STREAM frame, or the end of the connection. */
const ENDS = [8, 0, "disconnect"] as const;

test.each(["DELETE", "POST"].flatMap((method) => ENDS.map((end) => [method, end] as const)))(
  "a %s over HTTP/2 whose body ends early has no effect (%s)",
  async (method, end) => {
    const results: (number | undefined)[] = [];
    const { port, key, store, send } = await serve(false, (own) => {
      const respond: Handler["respond"] = async (...given) => {
        const response = await (own.respond as NonNullable<Handler["respond"]>)(...given);
        results.push(response.status);
        return response;
      };
      return Object.assign((...given: Parameters<Handler>) => own(...given), { respond });
    });
    const socket = connectSocket(port, "127.0.0.1");
    const path = method === "POST" ? "/v1/echo" : `${LIST}/1`;
    const pseudo = { ":method": method, ":path": path, ":scheme": "http", ":authority": "x" };
    const head = fields({ ...pseudo, authorization: `Bearer ${key}`, ...JSON_TYPE });
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(Buffer.concat([frame(4, 0, "", 0), frame(1, 4, head), frame(0, 0, '{"word":"a"}')]));
    // The request is there once the server has answered one that was sent later.
    await once(socket, "data");
    await send({ ":path": LIST });
    await send({ ":path": LIST });
    if (end === "disconnect") socket.destroy();
    else socket.write(frame(3, 0, Uint8Array.of(0, 0, 0, end)));
    await send({ ":path": LIST });
    expect((await send({ ":path": LIST })).status).toBe(200);
    socket.destroy();
    expect((await store.orders.find(1n))?.status).toBe("pending");
    expect(results.filter((status) => status !== 200)).toEqual(method === "POST" ? [400] : []);
    expect(results.filter((status) => status === 200)).toHaveLength(4);
  },
);

test("a long list arrives over HTTP/2 however slowly it is read, and one that is not read to its end is cancelled", async () => {
  const { session, events, key, store } = await serve(true);
  await store.orders.place(manyOrders(20_000));
  const list = () => session.request({ ":path": LIST, authorization: `Bearer ${key}` });
  const slow = list();
  let body = "";
  for await (const part of slow.setEncoding("latin1")) {
    body += part;
    await new Promise(setImmediate);
  }
  expect(JSON.parse(body)).toHaveLength(20_004);
  const cancelled = list();
  await once(cancelled, "data");
  cancelled.pause().close(8);
  await once(cancelled, "close");
  await expect.poll(() => events.map(({ bodyEnd }) => bodyEnd)).toEqual(["complete", "cancelled"]);
});

test("a list is cancelled whose client has reset the request before the response over HTTP/2", async () => {
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const { session, events, key, store, send } = await serve(false, (own) => async (request, context) => {
    const response = await own(request, context);
    if (request.headers.has("x-wait")) await isOver;
    return response;
  });
  await store.orders.place(manyOrders(20_000));
  const head = { ":path": LIST, authorization: `Bearer ${key}`, "x-wait": "" };
  const stream = session.request(head).on("error", () => {});
  await send({ ":path": "/healthz" });
  stream.close(8);
  await send({ ":path": "/healthz" });
  resolve();
  await expect.poll(() => events.at(-1)).toMatchObject({ operation: "listOrders", bodyEnd: "cancelled" });
});
