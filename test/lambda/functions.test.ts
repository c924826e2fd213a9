import { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { defineOperation } from "../../lib/http/define-operation.ts";
import type { Handler } from "../../lib/http/options.ts";
import type { ProxyEvent } from "../../lib/lambda/event.ts";
import { createBufferedFunction, createStreamingFunction } from "../../lib/lambda/index.ts";
import { createHandlerFixture } from "../http/fixture.ts";

const event: ProxyEvent = { httpMethod: "GET", path: "/v1/store/orders", requestContext: {} };
const PIECE = new TextEncoder().encode("0123456789");

/** A stream that keeps what it receives, and is ready for more at once unless told otherwise. */
function sink(ready = (done: () => void): unknown => done()) {
  const chunks: string[] = [];
  const write = (chunk: unknown, _encoding: string, done: () => void) => {
    chunks.push(`${chunk}`);
    ready(done);
  };
  return { chunks, stream: new Writable({ highWaterMark: 1_000, write }) };
}

/** Waits for everything that needs no outside event. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
}

/** A body that counts its reads. It ends, or fails, after `pieces` chunks. */
function countedBody({ pieces = Infinity, fails = false } = {}) {
  const seen = { pulled: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (seen.pulled++ < pieces) controller.enqueue(PIECE);
        else if (fails) controller.error(new RangeError("gone"));
        else controller.close();
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { seen, handler: async () => new Response(body) };
}

test("the cookies that a function around the handler sets all arrive", async () => {
  const headers = ["a=1", "b=2"].map((cookie): [string, string] => ["set-cookie", cookie]);
  const buffered = createBufferedFunction({ handler: async () => new Response("x", { headers }) });
  expect((await buffered(event)).multiValueHeaders).toEqual({ "set-cookie": ["a=1", "b=2"] });
});

test("a body is read no faster than the client receives it", async () => {
  const { seen, handler } = countedBody({ pieces: 100 });
  const taken: Array<() => void> = [];
  const stream = new Writable({
    highWaterMark: 20,
    write: (_chunk, _encoding, done) => void taken.push(done),
  });
  const answered = createStreamingFunction({ handler })(event, stream);
  await settle();
  expect(seen.pulled).toBeLessThan(5);
  const drain = setInterval(() => {
    for (const done of taken.splice(0)) done();
  }, 0);
  await answered;
  clearInterval(drain);
  expect(seen.pulled).toBe(101);
  expect(stream.writableEnded).toBe(true);
});

test.each([
  ["while the stream is full", 20],
  ["between two writes", 1_000],
])("a client that disconnects %s ends the reading", async (_when, highWaterMark) => {
  const { seen, handler } = countedBody();
  let taken = 0;
  const stream = new Writable({
    highWaterMark,
    write(_chunk, _encoding, done) {
      if (++taken < 3) return done();
      this.destroy();
    },
  });
  await createStreamingFunction({ handler })(event, stream);
  expect(seen.cancelled).toBe(true);
  expect(seen.pulled).toBeLessThan(200);
});

test("a client that disconnects while the store is slow ends the reading at once", async () => {
  const seen = { cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(PIECE),
    pull: () => new Promise(() => {}),
    cancel() {
      seen.cancelled = true;
    },
  });
  const { stream } = sink();
  const answered = createStreamingFunction({ handler: async () => new Response(body) })(event, stream);
  await settle();
  expect(seen.cancelled).toBe(false);
  stream.destroy();
  await expect.poll(() => seen.cancelled).toBe(true);
  await answered;
  expect(stream.listenerCount("close")).toBe(0);
});

test.each([
  ["none", null],
  ["an empty text", ""],
  ["an empty stream", new ReadableStream({ start: (controller) => controller.close() })],
])("a response with a body of %s is sent as one byte, because an empty stream hangs", async (_what, body) => {
  const { chunks, stream } = sink();
  const respond = async () => ({ status: 200, headers: {}, body });
  const handler = Object.assign(async () => Response.error(), { respond });
  await createStreamingFunction({ handler })(event, stream);
  expect([chunks, stream.writableEnded]).toEqual([["\n"], true]);
});

test("a body that fails rejects and leaves the stream open, so that the runtime reports the error", async () => {
  const { handler } = countedBody({ pieces: 3, fails: true });
  const { chunks, stream } = sink();
  await expect(createStreamingFunction({ handler })(event, stream)).rejects.toThrow(RangeError);
  expect(chunks).toHaveLength(3);
  expect(stream.writableEnded).toBe(false);
});

test("onFirstByte is called once, with the status", async () => {
  const { handler } = countedBody({ pieces: 3 });
  const statuses: number[] = [];
  const onFirstByte = (status: number) => statuses.push(status);
  await createStreamingFunction({ handler, onFirstByte })(event, sink().stream);
  expect(statuses).toEqual([200]);
});

test.each([
  ["a Response", (body: string | Uint8Array<ArrayBuffer>) => async () => new Response(body)],
  [
    "plain data",
    (body: string | Uint8Array<ArrayBuffer>) =>
      Object.assign(async () => Response.error(), {
        respond: async () => ({ status: 200, headers: {}, body }),
      }),
  ],
])(
  "the buffered function returns text of %s unchanged and other bytes in base64",
  async (_form, handlerOf) => {
    const bytes = Uint8Array.of(0xff, 0x00, 0xfe);
    const invoke = (body: string | Uint8Array<ArrayBuffer>) =>
      createBufferedFunction({ handler: handlerOf(body) })(event);
    const base64 = Buffer.from(bytes).toString("base64");
    expect(await invoke(bytes)).toMatchObject({ body: base64, isBase64Encoded: true });
    expect(await invoke("\ufeffä")).toMatchObject({ body: "\ufeffä", isBase64Encoded: false });
    expect(await invoke(new TextEncoder().encode("ä"))).toMatchObject({ body: "ä", isBase64Encoded: false });
  },
);

test.each([
  "/v1/pets/../store/orders",
  "/v1\\store\\orders",
  "/v1/store/orders\n",
  "/v1/store/orders\t",
  "/v1/store/orders#x",
  "/v1/store/orders?x",
  "/v1/%2e%2e/v1/store/orders",
])("the path %j gets 400 from the buffered function, which never reads the list", async (path) => {
  const { handler, key, store } = await createHandlerFixture();
  store.orders.list = () => {
    throw new Error("The list was read.");
  };
  const multiValueHeaders = { authorization: [`Bearer ${key}`] };
  const result = await createBufferedFunction({ handler })({ ...event, path, multiValueHeaders });
  expect([result.statusCode, JSON.parse(result.body).code]).toEqual([400, "bad_request"]);
});

test("a request identifier that no header can contain is replaced, and the request is answered", async () => {
  const { handler } = await createHandlerFixture();
  const requestContext = { requestId: "a\r\nSet-Cookie: b" };
  const result = await createBufferedFunction({ handler })({ ...event, requestContext });
  expect(result.statusCode).toBe(401);
  expect(result.headers["x-request-id"]).toMatch(/^[\w-]+$/);
});

test.each([
  ["/v1/%73tore/orders", "/live", "/live/v1/store/orders"],
  ["/shop/v1/store/order%73", "", "/shop/v1/store/orders"],
  ["/%6Fpenapi.json", "/live", "/live/openapi.json"],
  ["/%61:b", "", "/a:b"],
])(
  "a GET of %s below '%s' is redirected to the plain path, which the gateway routes",
  async (path, stage, plain) => {
    const { handler } = await createHandlerFixture();
    const query = { multiValueQueryStringParameters: { a: ["%2e"] } };
    const result = await createBufferedFunction({ handler })({ ...event, ...query, path });
    expect(result).toMatchObject({ statusCode: 308, headers: { "cache-control": "no-store" }, body: "" });
    const { href } = new URL(result.headers["location"] ?? "", `https://orders.example.com${stage}${path}`);
    expect(href).toBe(`https://orders.example.com${plain}?a=%252e`);
    expect(result.headers["x-request-id"]).toMatch(/^[\w-]+$/);
  },
);

test.each([
  ["GET", "/v1/%73tore/\u2028"],
  ["DELETE", "/v1/%73tore/orders/1"],
])("a %s of %s is not redirected", async (httpMethod, path) => {
  const { handler } = await createHandlerFixture();
  const result = await createBufferedFunction({ handler })({ ...event, httpMethod, path });
  expect([result.statusCode, result.headers["location"]]).toEqual([401, undefined]);
});

test("an invalid event gets 400 from both functions, with one log line each", async () => {
  const { handler } = await createHandlerFixture();
  const log = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => log.mockRestore());
  const result = await createBufferedFunction({ handler })(null as unknown as ProxyEvent);
  expect([result.statusCode, JSON.parse(result.body).code]).toEqual([400, "bad_request"]);

  const { chunks, stream } = sink();
  await createStreamingFunction({ handler })({} as ProxyEvent, stream);
  expect(JSON.parse(chunks.join("")).code).toBe("bad_request");
  expect(log.mock.calls.map(([line]) => line)).toEqual([
    ...Array(2).fill("The event is not one of a REST API with proxy integration.\n"),
  ]);
});

test.each([
  ["before the handler has answered", 0],
  ["while the body is sent", Infinity],
  ["after the last byte", 1],
])("a client that resets its connection %s does not end the process", async (_when, pieces) => {
  const { handler } = countedBody({ pieces });
  const uncaught: unknown[] = [];
  const record = (error: unknown) => uncaught.push(error);
  process.on("uncaughtException", record);
  onTestFinished(() => void process.off("uncaughtException", record));
  const { stream } = sink(setImmediate);
  const waiting: Handler = async () => {
    if (pieces === 0) await settle();
    return handler();
  };
  const answered = createStreamingFunction({ handler: waiting })(event, stream);
  if (pieces === Infinity) await settle();
  else if (pieces === 1) await answered;
  stream.destroy(Object.assign(new Error("write ECONNRESET"), { code: "ECONNRESET" }));
  await answered;
  await settle();
  expect(uncaught).toEqual([]);
});

test("an operation reads the body of an event, as text and in base64, and its query", async () => {
  const place = defineOperation({
    ...{ id: "place", method: "POST", path: "/a", tag: "a", summary: "a", description: "a", errors: [] },
    success: { status: 201, description: "Placed." },
    query: z.object({ dry: z.array(z.string()) }),
    body: z.object({ name: z.string() }),
    handle: async ({ body, query }) => ({ status: 201, body: JSON.stringify([body.name, query.dry]) }),
  });
  const { handler, key } = await createHandlerFixture({ operations: [place] });
  const api = createBufferedFunction({ handler });
  const post = (body: string, isBase64Encoded: boolean, authorization = `Bearer ${key}`) =>
    api({
      ...event,
      ...{ httpMethod: "POST", path: "/v1/a", body, isBase64Encoded },
      multiValueQueryStringParameters: { dry: ["a b", "c&d"] },
      multiValueHeaders: { Authorization: [authorization], "Content-Type": ["application/json"] },
    });
  const body = JSON.stringify({ name: "Größe" });
  const base64 = Buffer.from(body).toString("base64");
  for (const answer of [await post(body, false), await post(base64, true)])
    expect(answer).toMatchObject({ statusCode: 201, body: '["Größe",["a b","c&d"]]' });
  expect(await post(body, true)).toMatchObject({ statusCode: 400 });
  expect(await post(body, false, "")).toMatchObject({ statusCode: 401 });
  expect(await post(JSON.stringify({ name: "a".repeat(70_000) }), false)).toMatchObject({ statusCode: 413 });
});
