import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ERRORS } from "../../lib/http/errors.ts";
import type { ConnectionLimits } from "../../lib/node/limits.ts";
import { type Child, startChild } from "../support/child.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import type { ParsedResponse } from "../support/http/raw-responses.ts";
import { type RawBytes, rawBytes } from "./abuse/raw-requests.ts";
import { memoryFigures } from "./load/growth.ts";
import type { Memory } from "./load/memory.ts";
import { reportFigures, seed } from "./run.ts";

const CONNECTIONS = 6_000;
/** Less than a leak of 1,000 bytes in each connection. */
const MAX_HELD_MIB = 5;
const CONCURRENCY = 160;
const LIMITS: Partial<ConnectionLimits> = {
  headersTimeoutMs: 1_000,
  requestTimeoutMs: 1_000,
  keepAliveTimeoutMs: 100,
  writeTimeoutMs: 2_000,
};

let child: Child;
let url: string;
let keys: { readonly key: string; readonly limitedKey: string };
beforeAll(async () => {
  child = startChild(new URL("abuse/server-process.ts", import.meta.url), [JSON.stringify(LIMITS)]);
  ({ url, ...keys } = await child.nextMessage<{ url: string; key: string; limitedKey: string }>());
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
    for (const [index, response] of final.entries()) expectDocumented(response, methods[index] === "HEAD");
    return final.map(({ status }) => status);
  } catch (error) {
    throw new Error(`Sent: ${JSON.stringify(bytes)}`, { cause: error });
  }
}

test(`${CONNECTIONS} connections with arbitrary bytes get only documented responses, and memory does not grow`, async () => {
  const bytes = fc.oneof(
    { weight: 4, arbitrary: rawBytes(keys.key) },
    { weight: 1, arbitrary: rawBytes(keys.limitedKey) },
  );
  const cases = fc.sample(bytes, { seed, numRuns: CONNECTIONS });
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
  for (const status of [200, 204, 301, 400, 401, 404, 405, 421, 429])
    expect(statuses.has(status), `${status}`).toBe(true);
  const format = (counts: ReadonlyMap<string | number, number>) =>
    [...counts]
      .toSorted()
      .map((entry) => entry.join(": "))
      .join(", ");
  reportFigures("abuse of the socket", {
    "connections with documented responses only, without a 500": CONNECTIONS,
    kinds: format(kinds),
    statuses: format(statuses),
    ...memoryFigures(memory, MAX_HELD_MIB),
  });
});

const SUCCESSES = [200, 204, 301];

/** Checks that the API documents the response. Pages, redirects and 421 carry no rate limit headers. */
function expectDocumented({ status, headers, body }: ParsedResponse, isHead: boolean): void {
  const isPage = status === 200 && !headers.has("x-ratelimit-limit");
  const header = (name: string) => headers.get(name) ?? "";
  if (!SUCCESSES.includes(status)) {
    const codes = Object.entries(ERRORS).filter((entry) => entry[1].status === status);
    expect(codes, `a status of ${status}`).not.toEqual([]);
    expect(status, body).not.toBe(500);
    expect(header("content-type")).toBe("application/json");
    if (!isHead) {
      const parsed = JSON.parse(body);
      expect(codes.map(([code, { message }]) => ({ code, message, status }))).toContainEqual(parsed);
    }
  }
  if (isHead || status === 204) expect(body).toBe("");
  const isLimited = !isPage && status !== 301 && status !== 421;
  for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"])
    expect(header(name), name).toMatch(isLimited ? /^\d+$/ : /^$/);
  expect(/^\d+$/.test(header("retry-after"))).toBe(status === 429 || status === 503);
  expect(header("www-authenticate") !== "").toBe(status === 401);
  expect(header("allow") !== "").toBe(status === 405);
  expect(header("x-request-id")).not.toBe("");
}
