import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { START_FLAGS } from "../bench/servers/server-process.ts";
import { type Child, startChild } from "../support/child.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { memory, resetPeak } from "../support/process-cost.ts";
import { reportFigures } from "./run.ts";

const MAX_MEMORY_MIB = 64;
const MAX_P99_MS = 100;
/** How many times as long as before the flood, on a machine that has other work: with it, there are few measurements. */
const MAX_SLOWER = 10;
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

/** Sends the bytes on many connections, and measures what that costs the server and another client. */
async function flood(name: string, connections: number, bytes: string): Promise<void> {
  const latencies: number[] = [];
  const other = openSocket(url);
  const request = `DELETE /v1/store/orders/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  let sent = 0;
  async function measure(): Promise<void> {
    const startedAt = performance.now();
    other.send(request);
    expect((await other.responses(++sent)).responses).toHaveLength(sent);
    latencies.push(performance.now() - startedAt);
    await sleep(1);
  }
  while (sent < 500) await measure();
  // The first ones warm up the server.
  const before = p99Of(latencies.splice(0).slice(250));

  const client = startChild(new URL("abuse/flood-process.ts", import.meta.url), [url, `${connections}`]);
  children.push(client);
  await client.nextMessage();
  resetPeak(server.pid);
  const idle = memory(server.pid).now;
  client.send(bytes);
  const end = performance.now() + MEASURED_MS;
  while (performance.now() < end) await measure();
  const growth = memory(server.pid).peak - idle;
  const p99 = p99Of(latencies);
  figures[`${name}: memory above idle, MiB`] = growth.toFixed(1);
  figures[`${name}: p99 of another client, ms`] = p99.toFixed(1);
  expect(growth).toBeLessThan(MAX_MEMORY_MIB);
  expect(p99).toBeLessThan(Math.max(MAX_P99_MS, MAX_SLOWER * before));
}

function p99Of(latencies: readonly number[]): number {
  return latencies.toSorted((one, another) => one - another)[Math.floor(latencies.length * 0.99)] ?? 0;
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
