import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ConnectionLimits } from "../../lib/node/limits.ts";
import { type Child, startChild } from "../bench/servers/child.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { expectDocumented } from "./abuse/expect-documented.ts";
import { type RawBytes, rawBytes } from "./abuse/raw-requests.ts";
import { memoryFigures } from "./load/growth.ts";
import type { Memory } from "./load/memory.ts";
import { reportFigures, seed } from "./run.ts";

const CONNECTIONS = 10_000;
const CONCURRENCY = 64;
const LIMITS: Partial<ConnectionLimits> = {
  headersTimeoutMs: 1_000,
  requestTimeoutMs: 1_000,
  keepAliveTimeoutMs: 100,
  writeTimeoutMs: 2_000,
  lingerTimeoutMs: 100,
};

let child: Child;
let url: string;
let key: string;
beforeAll(async () => {
  child = startChild(new URL("abuse/server-process.ts", import.meta.url), [JSON.stringify(LIMITS)]);
  ({ url, key } = await child.nextMessage<{ url: string; key: string }>());
});
afterAll(() => child.kill());

async function memoryOfServer(): Promise<Memory> {
  child.send("memory");
  return child.nextMessage<Memory>();
}

/** Sends the bytes and checks every response until the server closes the connection. */
async function send({ kind, bytes, methods }: RawBytes): Promise<readonly number[]> {
  const connection = openSocket(url, methods);
  connection.send(bytes);
  const { responses, rest } = await connection.closed();
  try {
    expect(rest, "an incomplete response").toBe("");
    const final = responses.filter(({ status }) => status >= 200);
    if (kind === "valid" || kind === "pipelined") expect(final).toHaveLength(methods.length);
    for (const [index, { status, headers, body }] of final.entries()) {
      const isPage = status === 200 && !headers.has("x-ratelimit-limit");
      const isHead = methods[index] === "HEAD";
      expectDocumented({ status, body, header: (name) => headers.get(name) }, { isHead, isPage });
    }
    return final.map(({ status }) => status);
  } catch (error) {
    throw new Error(`Sent: ${JSON.stringify(bytes)}`, { cause: error });
  }
}

test(`${CONNECTIONS} connections with arbitrary bytes get only documented responses, and memory does not grow`, async () => {
  const cases = fc.sample(rawBytes(key), { seed, numRuns: CONNECTIONS });
  const kinds = new Map<string, number>();
  const statuses = new Map<number, number>();
  const memory: Memory[] = [];

  async function sendAll(requests: readonly RawBytes[]): Promise<void> {
    const queue = requests.values();
    const sender = async () => {
      for (const raw of queue) {
        kinds.set(raw.kind, (kinds.get(raw.kind) ?? 0) + 1);
        for (const status of await send(raw)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, sender));
  }

  const tenth = CONNECTIONS / 10;
  for (let begin = 0; begin < CONNECTIONS; begin += tenth) {
    await sendAll(cases.slice(begin, begin + tenth));
    memory.push(await memoryOfServer());
  }
  for (const status of [200, 204, 400, 404, 405]) expect(statuses.has(status), `${status}`).toBe(true);
  const format = (counts: ReadonlyMap<string | number, number>) =>
    [...counts]
      .toSorted()
      .map((entry) => entry.join(": "))
      .join(", ");
  reportFigures("abuse of the socket", {
    "connections with documented responses only, without a 500": CONNECTIONS,
    kinds: format(kinds),
    statuses: format(statuses),
    ...memoryFigures(memory),
  });
});
