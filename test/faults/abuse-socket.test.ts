import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Child, startChild } from "../bench/servers/child.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { isDocumented } from "./abuse/documented.ts";
import { type RawBytes, rawBytes } from "./abuse/raw-requests.ts";
import { figuresOf } from "./load/growth.ts";
import type { Memory } from "./load/memory.ts";
import { seed, tell } from "./run.ts";

const CONNECTIONS = 10_000;
const AT_A_TIME = 64;

let child: Child;
let url: string;
let key: string;
beforeAll(async () => {
  child = startChild(new URL("abuse/server-process.ts", import.meta.url), []);
  ({ url, key } = await child.told<{ url: string; key: string }>());
});
afterAll(() => child.kill());

async function memoryOfServer(): Promise<Memory> {
  child.send("memory");
  return child.told<Memory>();
}

/** Sends it, takes what comes back until the server closes, and looks at each answer. */
async function send({ kind, bytes, methods }: RawBytes): Promise<readonly number[]> {
  const line = openSocket(url, methods);
  line.send(bytes);
  const { answers, rest } = await line.closed();
  try {
    expect(rest, "a torn answer").toBe("");
    const final = answers.filter(({ status }) => status >= 200);
    if (kind === "valid" || kind === "pipelined") expect(final).toHaveLength(methods.length);
    for (const [turn, { status, headers, body }] of final.entries()) {
      const page = status === 200 && !headers.has("x-ratelimit-limit");
      const head = methods[turn] === "HEAD";
      isDocumented({ status, body, header: (name) => headers.get(name) }, { head, page });
    }
    return final.map(({ status }) => status);
  } catch (error) {
    throw new Error(`Sent: ${JSON.stringify(bytes)}`, { cause: error });
  }
}

test(`${CONNECTIONS} connections with bytes of all kinds: documented answers or none, and nothing of it is kept`, async () => {
  const cases = fc.sample(rawBytes(key), { seed, numRuns: CONNECTIONS });
  const kinds = new Map<string, number>();
  const statuses = new Map<number, number>();
  const memory: Memory[] = [];

  async function sendAll(some: readonly RawBytes[]): Promise<void> {
    const turns = some.values();
    const sender = async () => {
      for (const raw of turns) {
        kinds.set(raw.kind, (kinds.get(raw.kind) ?? 0) + 1);
        for (const status of await send(raw)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, sender));
  }

  const tenth = CONNECTIONS / 10;
  for (let begin = 0; begin < CONNECTIONS; begin += tenth) {
    await sendAll(cases.slice(begin, begin + tenth));
    memory.push(await memoryOfServer());
  }
  for (const status of [200, 204, 400, 404, 405]) expect(statuses.has(status), `${status}`).toBe(true);
  const list = (counts: ReadonlyMap<string | number, number>) =>
    [...counts]
      .toSorted()
      .map((entry) => entry.join(": "))
      .join(", ");
  tell("abuse of the socket", {
    "connections, each with documented answers and no 500": CONNECTIONS,
    kinds: list(kinds),
    statuses: list(statuses),
    ...figuresOf(memory),
  });
});
