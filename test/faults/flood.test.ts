import { Agent, get as httpGet } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Child, startChild } from "../bench/servers/child.ts";
import { memory, processorTime, resetPeak } from "../bench/servers/process-cost.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { reportFigures } from "./run.ts";

const MAX_MEMORY_MIB = 64;
/** If the server limits its memory while it runs, and no flag does so from its first moment. */
const MAX_MEMORY_WITHOUT_FLAG_MIB = 72;
/** Of one request for a document, which needs no key and is not counted. */
const MAX_CPU_MS = 0.3;
const MAX_P99_MS = 100;
/** As `npm start`, the container and the systemd unit start the server. */
const START_FLAGS = ["--max-semi-space-size=8"];

let server: Child;
let url: string;
let key: string;
const children: Child[] = [];
beforeEach(() => startServer(START_FLAGS));
async function startServer(flags: readonly string[]): Promise<void> {
  server = startChild(new URL("abuse/server-process.ts", import.meta.url), [], {}, flags);
  ({ url, key } = await server.nextMessage<{ url: string; key: string }>());
}
afterEach(async () => {
  for (const child of [server, ...children.splice(0)]) await child.kill();
});

const figures: Record<string, string> = {};
afterAll(() => reportFigures("floods without a key", figures));

/** Sends the bytes on many connections, and measures what that costs the server and another client. */
async function flood(
  name: string,
  connections: number,
  bytes: string,
  maxMemoryMiB = MAX_MEMORY_MIB,
): Promise<void> {
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
  latencies.length = 0;

  const client = startChild(new URL("abuse/flood-process.ts", import.meta.url), [url, `${connections}`]);
  children.push(client);
  await client.nextMessage();
  resetPeak(server.pid);
  const idle = memory(server.pid).now;
  client.send(bytes);
  const end = performance.now() + 10_000;
  while (performance.now() < end) await measure();
  const growth = memory(server.pid).peak - idle;
  const p99 = latencies.toSorted((one, another) => one - another)[Math.floor(latencies.length * 0.99)] ?? 0;
  figures[`${name}: memory above idle, MiB`] = growth.toFixed(1);
  figures[`${name}: p99 of another client, ms`] = p99.toFixed(1);
  expect(growth).toBeLessThan(maxMemoryMiB);
  expect(p99).toBeLessThan(MAX_P99_MS);
}

/** Requests for documents, and for what needs no key. */
const pipelined = (documents: number) =>
  DOCUMENT.repeat(documents) + "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2_300);
const DOCUMENT = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n";

/** The responses to 24 documents are more than the buffers of a connection hold: the requests that follow wait. */
test.each([
  { connections: 120, documents: 24, outcome: "wait" },
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

test("without a start flag, 420 connections that pipeline requests use little more memory", async () => {
  await server.kill();
  await startServer([]);
  const name = "420 connections, without a start flag";
  await flood(name, 420, pipelined(4), MAX_MEMORY_WITHOUT_FLAG_MIB);
});

test("1,000 connections that send unfinished heads use bounded memory and do not delay other clients", () =>
  flood("unfinished heads", 1_000, `GET / HTTP/1.1\r\nHost: x\r\n${"a:b\r\n".repeat(3_000)}`));

describe("documents are cheap", () => {
  test.each([
    ["/docs/swagger-ui-bundle.js", "gzip"],
    ["/docs/swagger-ui-bundle.js", "identity"],
    ["/docs/swagger-ui.css", "identity"],
    ["/docs", "identity"],
    ["/openapi.json", "identity"],
  ])("a request for %s with Accept-Encoding: %s takes under 0.3 ms of CPU time", async (path, encoding) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const get = () =>
      new Promise<void>((resolve, reject) => {
        const headers = { "accept-encoding": encoding };
        const request = httpGet(`${url}${path}`, { agent, headers }, (response) =>
          response.resume().once("end", resolve),
        );
        request.once("error", reject);
      });
    const getMany = (count: number) => Promise.all(Array.from({ length: count }, get));
    await getMany(1_000);
    const before = processorTime(server.pid);
    await getMany(4_000);
    const each = (processorTime(server.pid) - before) / 4_000;
    agent.destroy();
    figures[`CPU time for ${path}, ${encoding}, ms`] = each.toFixed(2);
    expect(each).toBeLessThan(MAX_CPU_MS);
  });
});
