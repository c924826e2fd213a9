import assert from "node:assert/strict";
import { copyOf, type Shop } from "../fixture.ts";
import { type Program, start } from "../servers/server-process.ts";

/** A request whose answer all have to agree on. */
export interface Question {
  readonly method: "GET" | "DELETE";
  readonly path: string;
  readonly key: string;
  /** Asked so many times, of which the last answer counts. @default 1 */
  readonly times?: number;
}

/**
 * Throws unless everyone answers alike, each over a fresh copy of the shop in `folder`: the same status, the headers
 * of the limit, and the same body byte for byte.
 */
export async function agree(
  folder: string,
  shop: Shop,
  programs: (shop: Shop) => Readonly<Record<string, Program>>,
  questions: readonly Question[],
): Promise<void> {
  let expected: readonly string[] | undefined;
  for (const name of Object.keys(programs(shop))) {
    const program = programs(copyOf(shop, folder))[name];
    if (program === undefined) continue;
    const server = await start(program);
    try {
      const given: string[] = [];
      for (const question of questions) given.push(await ask(server.url, question));
      expected ??= given;
      assert.deepEqual(given, expected, `${name} does not answer as the others do`);
    } finally {
      await server.stop();
    }
  }
}

async function ask(url: string, { method, path, key, times = 1 }: Question): Promise<string> {
  let answer = "";
  for (let time = 0; time < times; time++) {
    const response = await fetch(url + path, { method, headers: { authorization: `Bearer ${key}` } });
    const told = LIMIT_HEADERS.filter((name) => response.headers.has(name));
    answer = [response.status, ...told, await response.text()].join(" ");
  }
  return answer;
}

const LIMIT_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"];
