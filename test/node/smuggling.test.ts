import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import type { ParsedResponse } from "../support/http/raw-responses.ts";
import { AMBIGUOUS_CODINGS, KEY, PIPELINED, REJECTED, SINGLE, withCoding } from "./ambiguous-requests.ts";

const store = createMemoryStore();
const customLimits = { perMinute: 60_000, perDay: 10_000_000 };
let server: NodeServer;
let key: string;
let statuses: number[] = [];

beforeAll(async () => {
  const shop = await createHandlerFixture({
    store,
    plan: "enterprise",
    customLimits,
    onRequest: ({ status }) => statuses.push(status),
  });
  key = shop.key;
  expect(key).toHaveLength(KEY.length);
  server = await startNodeServer({ handler: shop.handler, port: 0 });
});
beforeEach(() => {
  statuses = [];
});
afterAll(async () => {
  await server.close({ graceMs: 0 });
});

const isPending = async () => (await store.orders.find(1n))?.status === "pending";

/** Sends the bytes and then, unless it is empty, the last request, which closes the connection. */
async function responsesTo(bytes: string, last: string): Promise<readonly ParsedResponse[]> {
  const connection = openSocket(server.url);
  connection.send(bytes.replaceAll(KEY, key));
  if (last !== "") {
    await connection.responses(1);
    connection.send(last);
  }
  const { responses, rest } = await connection.closed();
  expect(rest).toBe("");
  return responses;
}

async function expectRejected(bytes: string): Promise<void> {
  const [response, ...others] = await responsesTo(bytes, "");
  expect(others).toEqual([]);
  expect(response?.status).toBe(400);
  expect(response?.headers.get("connection")).toBe("close");
  expect(JSON.parse(response?.body ?? "")).toMatchObject({ code: "bad_request", status: 400 });
  expect(statuses).toEqual([400]);
  expect(await isPending()).toBe(true);
}

describe("an ambiguous request", () => {
  test.each(REJECTED)("%s: the request gets 400 and is not executed", (_name, bytes) =>
    expectRejected(bytes),
  );
  test.each(AMBIGUOUS_CODINGS.map((coding) => [JSON.stringify(coding), withCoding(coding)] as const))(
    "a body in the transfer coding %s gets 400 and is not executed",
    (_name, bytes) => expectRejected(bytes),
  );
});

describe("an unambiguous request", () => {
  const last = "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  test.each(SINGLE)("%s: the bytes are read as one request", async (_name, bytes) => {
    const responses = await responsesTo(bytes, last);
    expect(responses.map(({ status }) => status)).toEqual([404, 401]);
    expect(statuses).toEqual([404, 401]);
    expect(await isPending()).toBe(true);
  });
});

test("requests after the last one of a connection are not executed", async () => {
  const closing = PIPELINED.replace("Host: x\r\n", "Host: x\r\nConnection: close\r\n");
  expect((await responsesTo(closing, "")).map(({ status }) => status)).toEqual([404]);
  const http10 = PIPELINED.replace("HTTP/1.1", "HTTP/1.0");
  expect((await responsesTo(http10, "")).map(({ status }) => status)).toEqual([404]);
  expect(await isPending()).toBe(true);
});

test("a request with a malformed body is not executed", async () => {
  const cancel = PIPELINED.slice(PIPELINED.lastIndexOf("DELETE")).slice(0, -2);
  await expectRejected(`${cancel}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnothing\r\n\r\n`);
});
