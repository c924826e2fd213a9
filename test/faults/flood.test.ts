import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { START_FLAGS } from "../bench/servers/server-process.ts";
import { type Child, startChild } from "../support/child.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { exactProcessorTime, memory, resetPeak } from "../support/process-cost.ts";
import { reportFigures } from "./run.ts";

const MAX_MEMORY_MIB = 64;
/** Up to 254 on a slow machine. A client notices a second. */
const MAX_WORK_MS = 1_000;
/** Memory reaches its peak sooner. */
const MEASURED_MS = 5_000;

let server: Child;
let url: string;
let key: string;
const children: Child[] = [];
beforeEach(async () => {
  server = startChild(new URL("abuse/server-process.ts", import.meta.url), [], {}, START_FLAGS);
  ({ url, key } = await server.nextMessage<{ url: string; key: string }>());
});
afterEach(async () => {
  for (const child of [server, ...children.splice(0)]) await child.kill();
});

const figures: Record<string, string> = {};
afterAll(() => reportFigures("floods without a key", figures));

/**
 * Sends the bytes on many connections, and measures what that costs the server and another client: how much the server
 * works until it responds to that one, which does not depend on the other work of the machine.
 */
async function flood(name: string, connections: number, bytes: string): Promise<void> {
  const delays: number[] = [];
  const other = openSocket(url);
  const request = `DELETE /v1/store/orders/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  let sent = 0;
  async function measure(): Promise<void> {
    const before = exactProcessorTime(server.pid);
    other.send(request);
    expect((await other.responses(++sent)).responses).toHaveLength(sent);
    delays.push(exactProcessorTime(server.pid) - before);
    await sleep(1);
  }
  while (sent < 500) await measure();
  delays.length = 0;

  const client = startChild(new URL("abuse/flood-process.ts", import.meta.url), [url, `${connections}`]);
  children.push(client);
  await client.nextMessage();
  resetPeak(server.pid);
  const idle = memory(server.pid).now;
  client.send(bytes);
  const end = performance.now() + MEASURED_MS;
  while (performance.now() < end) await measure();
  const growth = memory(server.pid).peak - idle;
  const longest = Math.max(...delays);
  figures[`${name}: memory above idle, MiB`] = growth.toFixed(1);
  figures[`${name}: longest work before a response to another client, ms`] = longest.toFixed(1);
  expect(growth).toBeLessThan(MAX_MEMORY_MIB);
  expect(longest).toBeLessThan(MAX_WORK_MS);
}

/** Requests for documents, and for what needs no key. */
const pipelined = (documents: number) =>
  DOCUMENT.repeat(documents) + "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2_300);
const DOCUMENT = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n";

/** The responses to 24 documents are more than the buffers of a connection hold: the requests that follow wait. */
test.each([
  { connections: 420, documents: 24, outcome: "wait" },
  { connections: 420, documents: 4, outcome: "are answered" },
])(
  "$connections connections that pipeline 2,300 requests, which $outcome, use bounded memory and do not delay other clients",
  ({ connections, documents, outcome }) =>
    flood(
      `${connections} connections whose pipelined requests ${outcome}`,
      connections,
      pipelined(documents),
    ),
);

test("1,000 connections that send unfinished heads use bounded memory and do not delay other clients", () =>
  flood("unfinished heads", 1_000, `GET / HTTP/1.1\r\nHost: x\r\n${"a:b\r\n".repeat(3_000)}`));
