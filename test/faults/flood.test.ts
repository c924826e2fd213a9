import { Agent, get as httpGet } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Child, startChild } from "../bench/servers/child.ts";
import { memory, processorTime, resetPeak } from "../bench/servers/process-cost.ts";
import { START_FLAGS } from "../bench/servers/server-process.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { reportFigures } from "./run.ts";

const MAX_MEMORY_MIB = 64;
/** Processor time of a request for a document, which needs no key and is not counted, beside bare `node:http`. */
const MAX_CPU_RATIO = 4;
const MAX_P99_MS = 100;

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
  expect(growth).toBeLessThan(MAX_MEMORY_MIB);
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

test("1,000 connections that send unfinished heads use bounded memory and do not delay other clients", () =>
  flood("unfinished heads", 1_000, `GET / HTTP/1.1\r\nHost: x\r\n${"a:b\r\n".repeat(3_000)}`));

describe("documents are cheap", () => {
  test.each([
    ["/docs/swagger-ui-bundle.js", "gzip"],
    ["/docs/swagger-ui-bundle.js", "identity"],
    ["/docs/swagger-ui.css", "identity"],
    ["/docs", "identity"],
    ["/openapi.json", "identity"],
  ])(
    "a request for %s with Accept-Encoding: %s takes less than four times the CPU time of bare node:http",
    async (path, encoding) => {
      const program = new URL("abuse/document-process.ts", import.meta.url);
      const bare = startChild(program, [`${url}${path}`, encoding]);
      children.push(bare);
      const bareServer = await bare.nextMessage<{ url: string }>();
      const agent = new Agent({ keepAlive: true, maxSockets: 8 });
      const get = (target: string) =>
        new Promise<void>((resolve, reject) => {
          const headers = { "accept-encoding": encoding };
          const request = httpGet(target, { agent, headers }, (response) =>
            response.resume().once("end", resolve),
          );
          request.once("error", reject);
        });
      /** The processor time, in milliseconds, that a thousand requests cost a server. */
      async function measure(pid: number, target: string): Promise<number> {
        const before = processorTime(pid);
        await Promise.all(Array.from({ length: 1_000 }, () => get(target)));
        return processorTime(pid) - before;
      }
      /** In turns, so that a slower moment of the machine meets both. The first turn warms both up. */
      const turns: { ours: number; bare: number }[] = [];
      while (turns.length < 6)
        turns.push({
          ours: await measure(server.pid, `${url}${path}`),
          bare: await measure(bare.pid, bareServer.url),
        });
      agent.destroy();
      const total = (which: "ours" | "bare") => turns.slice(1).reduce((sum, turn) => sum + turn[which], 0);
      const ratio = total("ours") / total("bare");
      figures[`CPU time for ${path}, ${encoding}, ms`] = (total("ours") / 5_000).toFixed(2);
      figures[`CPU time for ${path}, ${encoding}, beside bare node:http`] = ratio.toFixed(2);
      expect(ratio).toBeLessThan(MAX_CPU_RATIO);
    },
  );
});
