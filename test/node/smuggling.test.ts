import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { openShop } from "../http/fixture.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import type { Reply } from "../support/http/raw-responses.ts";
import { AMBIGUOUS_CODINGS, inCoding, KEY, ONE, REFUSED, TWO } from "./ambiguous-requests.ts";

const store = createMemoryStore();
const customLimits = { perMinute: 60_000, perDay: 10_000_000 };
let server: NodeServer;
let key: string;
let statuses: number[] = [];

beforeAll(async () => {
  const shop = await openShop({
    store,
    terms: { plan: "enterprise", customLimits },
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

/** Sends the bytes and, where the connection is still open then, a last request that closes it. */
async function answersTo(bytes: string, last: string): Promise<readonly Reply[]> {
  const line = openSocket(server.url);
  line.send(bytes.replaceAll(KEY, key));
  if (last !== "") {
    await line.answers(1);
    line.send(last);
  }
  const { answers, rest } = await line.closed();
  expect(rest).toBe("");
  return answers;
}

async function isRefused(bytes: string): Promise<void> {
  const [answer, ...others] = await answersTo(bytes, "");
  expect(others).toEqual([]);
  expect(answer?.status).toBe(400);
  expect(answer?.headers.get("connection")).toBe("close");
  expect(JSON.parse(answer?.body ?? "")).toMatchObject({ code: "bad_request", status: 400 });
  expect(statuses).toEqual([400]);
  expect(await isPending()).toBe(true);
}

describe("refused with 400 and the connection closed, nothing of it carried out", () => {
  test.each(REFUSED)("%s", (_name, bytes) => isRefused(bytes));
  test.each(AMBIGUOUS_CODINGS.map((coding) => [JSON.stringify(coding), inCoding(coding)] as const))(
    "chunks in the coding %s",
    (_name, bytes) => isRefused(bytes),
  );
});

describe("answered as the one request that it is", () => {
  const last = "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  test.each(ONE)("%s", async (_name, bytes) => {
    const answers = await answersTo(bytes, last);
    expect(answers.map(({ status }) => status)).toEqual([404, 401]);
    expect(statuses).toEqual([404, 401]);
    expect(await isPending()).toBe(true);
  });
});

test("what follows the last request of a connection is not carried out", async () => {
  const ending = TWO.replace("Host: x\r\n", "Host: x\r\nConnection: close\r\n");
  expect((await answersTo(ending, "")).map(({ status }) => status)).toEqual([404]);
  const old = TWO.replace("HTTP/1.1", "HTTP/1.0");
  expect((await answersTo(old, "")).map(({ status }) => status)).toEqual([404]);
  expect(await isPending()).toBe(true);
});

test("a request whose end is malformed was not carried out in the beginning", async () => {
  const cancel = TWO.slice(TWO.lastIndexOf("DELETE")).slice(0, -2);
  await isRefused(`${cancel}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnothing\r\n\r\n`);
});
