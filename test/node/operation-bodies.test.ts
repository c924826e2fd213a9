import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve as serveHono } from "@hono/node-server";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { defineOperation } from "../../lib/http/define-operation.ts";
import type { Handler } from "../../lib/http/options.ts";
import { toNodeHandler } from "../../lib/node/handler.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { listen, serve } from "./fixture.ts";

const MAX_BYTES = 300_000;
const about = {
  method: "POST",
  tag: "notes",
  summary: "A note",
  description: "For tests.",
  errors: [],
} as const;
const success = { status: 200, description: "What was read." } as const;
let calls = 0;
const measure = defineOperation({
  ...{ ...about, success, id: "measure", path: "/measure", maxBodyBytes: MAX_BYTES },
  body: z.object({ text: z.string() }),
  async handle({ body }) {
    calls++;
    return { status: 200, body: `${body.text.length}` };
  },
});
const count = defineOperation({
  ...{ ...about, success, id: "count", path: "/count" },
  async handle() {
    calls++;
    return { status: 200, body: "{}" };
  },
});
const operations = [measure, count];

async function start(options: Parameters<typeof serve>[0] = {}) {
  calls = 0;
  const service = await serve({ operations, ...options });
  const connection = openSocket(service.url);
  onTestFinished(() => void connection.socket.destroy());
  const head = (path: string, fields: string, key = service.key) =>
    `POST /v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${fields}\r\n\r\n`;
  const post = (body: string, path = "measure") => `${head(path, `Content-Length: ${body.length}`)}${body}`;
  const answered = async () => {
    const { responses, rest } = await connection.closed();
    expect([responses.at(-1)?.headers.get("connection"), rest]).toEqual(["close", ""]);
    return responses.map(({ status, body }) => [status, status < 400 ? body : JSON.parse(body).code]);
  };
  return { ...service, connection, head, post, answered };
}

const text = (length: number) => JSON.stringify({ text: "a".repeat(length) });
const last = "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const wrap =
  (handler: Handler): Handler =>
  (request, context) =>
    handler(request, context);

describe("a body is received", () => {
  const mounts: Record<string, (handler: Handler) => Promise<string>> = {
    "a plain node:http server": (handler) => {
      const serveOrders = toNodeHandler(handler);
      return listen((req, res) => {
        res.once("finish", () => expect(req.socket).not.toBeNull());
        serveOrders(req, res);
      });
    },
    async Hono(handler) {
      const { fetch } = new Hono().mount("/", handler);
      // Without it, the other tests of this process would get its own `Request`.
      const own = { overrideGlobalObjects: false };
      const server = serveHono({ fetch, port: 0, hostname: "127.0.0.1", ...own });
      onTestFinished(() => void server.close());
      await once(server, "listening");
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
  };
  test.each(Object.keys(mounts))("by the handler in %s", async (name) => {
    const { handler, key } = await createHandlerFixture({ operations });
    const url = await mounts[name]?.(handler);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const post = (body: RequestInit["body"]) =>
      fetch(`${url}/v1/measure`, { method: "POST", headers, body: body ?? null, duplex: "half" });
    expect(await (await post(text(250_000))).text()).toBe("250000");
    expect(await (await post(new Blob([text(9)]).stream())).text()).toBe("9");
    expect((await fetch(`${url}/v1/measure`, { method: "POST", body: "{}" })).status).toBe(401);
    expect(await (await post(text(1))).text()).toBe("1");
    expect((await post(new Blob([text(10 * MAX_BYTES)]).stream())).status).toBe(413);
  });

  test.each([
    ["createHandler", (handler: Handler) => handler],
    ["a function that wraps a handler", wrap],
  ])("from a connection that stays usable, by %s", async (_name, wrap) => {
    const { connection, post, head, answered } = await start({ wrap });
    const chunked = `${head("measure", "Transfer-Encoding: chunked")}5\r\n{"tex\r\n8\r\nt":"ab"}\r\n0\r\n\r\n`;
    const hidden = JSON.stringify({ text: last });
    connection.send(`${post(text(250_000))}${chunked}${post(hidden)}${post("{}", "count")}${last}`);
    expect(await answered()).toEqual([
      [200, "250000"],
      [200, "2"],
      [200, `${last.length}`],
      [200, "{}"],
      [401, "missing_api_key"],
    ]);
  });
});

describe("the response does not wait for the rest of the body, and closes the connection", () => {
  test.each([
    ["of a caller without a key", "measure", "Content-Length: 900", "so_x", [401, "invalid_api_key"]],
    ["at a path without an operation", "other", "Content-Length: 900", undefined, [404, "route_not_found"]],
    [
      "above the limit by its length",
      "measure",
      `Content-Length: ${MAX_BYTES + 1}`,
      undefined,
      [413, "request_too_large"],
    ],
    ["above 10 MB", "count", `Content-Length: ${11 * 1024 * 1024}`, undefined, [413, "request_too_large"]],
    [
      "of another type",
      "measure",
      "Content-Length: 900\r\nContent-Encoding: br",
      undefined,
      [415, "unsupported_media_type"],
    ],
  ])("%s", async (_name, path, fields, key, expected) => {
    const { connection, head, answered } = await start();
    connection.send(`${head(path, fields, key)}{"text":`);
    await connection.responses(1);
    connection.send(last);
    expect(await answered()).toEqual([expected]);
    expect(calls).toBe(0);
  });

  test("above the limit by what is sent, to a client that goes on sending", async () => {
    const { connection, head, answered } = await start();
    connection.send(head("measure", "Transfer-Encoding: chunked"));
    const sending = setInterval(() => connection.send(`4000\r\n${"a".repeat(0x4000)}\r\n`), 2);
    expect(await answered()).toEqual([[413, "request_too_large"]]);
    clearInterval(sending);
  });

  test.each([0, 30])("that is not valid HTTP, after %i ms", async (milliseconds) => {
    const { connection, head, answered } = await start();
    connection.send(`${head("measure", "Transfer-Encoding: chunked")}5\r\n{"tex\r\n`);
    if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
    connection.send("nothing\r\n\r\n");
    expect(await answered()).toEqual([[400, "bad_request"]]);
  });

  test("that does not arrive in time", async () => {
    const limits = { headersTimeoutMs: 200, requestTimeoutMs: 300 };
    const { connection, post, answered } = await start({ limits });
    connection.send(post(text(40)).slice(0, -1));
    expect(await answered()).toEqual([[408, "request_timeout"]]);
    expect(calls).toBe(0);
  });
});

test("a body is asked for only if its caller is admitted", async () => {
  const { connection, head, answered, url } = await start();
  const body = text(3);
  connection.send(head("measure", `Content-Length: ${body.length}\r\nExpect: 100-continue`));
  expect((await connection.responses(1)).responses[0]?.status).toBe(100);
  connection.send(`${body}${last}`);
  expect((await answered()).slice(1)).toEqual([
    [200, "3"],
    [401, "missing_api_key"],
  ]);
  const denied = openSocket(url);
  denied.send(head("measure", "Content-Length: 900\r\nExpect: 100-continue", "so_x"));
  expect((await denied.closed()).responses.map(({ status }) => status)).toEqual([401]);
});

test("an operation whose body a middleware has read is 500, and one without a body works", async () => {
  const { handler, key, events } = await createHandlerFixture({ operations });
  const serveOrders = toNodeHandler(handler);
  const server = await listen(async (req, res) => {
    for await (const _ of req);
    serveOrders(req, res);
  });
  const url = `${server}/v1`;
  const init = {
    method: "POST",
    body: text(1),
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  };
  expect((await fetch(`${url}/measure`, init)).status).toBe(500);
  expect(String(events[0]?.error)).toMatch(/A middleware has read the body/);
  expect((await fetch(`${url}/count`, init)).status).toBe(200);
});

describe("in a plain node:http server, a body that is not read to its end", () => {
  const chunk = `8000\r\n${"a".repeat(0x8000)}\r\n`;
  const open = async (wrap: (handler: Handler) => Handler) => {
    const { handler, key } = await createHandlerFixture({ operations });
    const connection = openSocket(await listen(toNodeHandler(wrap(handler))));
    onTestFinished(() => void connection.socket.destroy());
    const fields = `Authorization: Bearer ${key}\r\nTransfer-Encoding: chunked`;
    connection.send(`POST /v1/measure HTTP/1.1\r\nHost: x\r\n${fields}\r\n\r\n${chunk.repeat(40)}`);
    return connection;
  };

  test.each<[string, (handler: Handler) => Handler]>([
    ["because it is too large", (handler) => handler],
    ["because it is too large, behind a function that wraps the handler", wrap],
    [
      "because a function that wraps the handler has cancelled it",
      () => async (request) => {
        const reader = request.body?.getReader();
        await reader?.read();
        await reader?.cancel();
        return new Response(null, { status: 413 });
      },
    ],
    ["because nobody begins", () => async () => new Response(null, { status: 413 })],
  ])("%s, is discarded, and the next request is answered", async (_why, wrap) => {
    const connection = await open(wrap);
    const early = await connection.responses(1);
    expect(early.responses[0]?.headers.get("connection")).toBe("keep-alive");
    connection.send(`${chunk.repeat(40)}0\r\n\r\n${last}`);
    const { responses } = await connection.closed();
    expect(responses).toHaveLength(2);
    expect(responses[0]?.status).toBe(413);
  });

  test("by a function that wraps the handler and may go on, closes the connection", async () => {
    const connection = await open(() => async (request) => {
      await request.body?.getReader().read();
      return new Response(null, { status: 202 });
    });
    const { responses } = await connection.closed();
    expect(responses.map(({ status, headers }) => [status, headers.get("connection")])).toEqual([
      [202, "close"],
    ]);
  });
});
