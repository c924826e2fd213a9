import assert from "node:assert/strict";
import { start } from "../servers/server-process.ts";
import type { FreshPrograms } from "./load-job.ts";

/** A request whose response must be the same from every candidate. */
export interface RepeatedRequest {
  readonly method: "GET" | "DELETE";
  readonly path: string;
  readonly key: string;
  /** How often it is sent. The last response counts. @default 1 */
  readonly times?: number;
}

/**
 * Throws unless every candidate responds alike, each on a fresh copy of its database: the same status, the same limit
 * headers, and the same body byte for byte.
 */
export async function expectEqualResponses(
  programs: FreshPrograms,
  requests: readonly RepeatedRequest[],
): Promise<void> {
  let expected: readonly string[] | undefined;
  for (const name of Object.keys(await programs())) {
    const program = (await programs())[name];
    if (program === undefined) continue;
    const server = await start(program);
    try {
      const responses: string[] = [];
      for (const request of requests) responses.push(await send(server.url, request));
      expected ??= responses;
      assert.deepEqual(responses, expected, `${name} does not respond like the others`);
    } finally {
      await server.stop();
    }
  }
}

async function send(url: string, { method, path, key, times = 1 }: RepeatedRequest): Promise<string> {
  let result = "";
  for (let time = 0; time < times; time++) {
    const response = await fetch(url + path, { method, headers: { authorization: `Bearer ${key}` } });
    const limitHeaders = LIMIT_HEADERS.filter((name) => response.headers.has(name));
    result = [response.status, ...limitHeaders, await response.text()].join(" ");
  }
  return result;
}

const LIMIT_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"];
