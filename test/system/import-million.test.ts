import type { ChildProcess } from "node:child_process";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandLine, ended, written } from "../support/command-line.ts";

const MILLION = 1_000_000;
const MAX = "9223372036854775807";
const MOST_MIB = 150;

const cli = commandLine();
afterAll(() => cli[Symbol.dispose]());
const good = join(cli.folder, "good.ndjson");
const mixed = join(cli.folder, "mixed.ndjson");
const store = ["--database", "million.db"];
const told = (line: string) => process.stderr.write(`      ${line}\n`);

/** A million orders, a thousand thousands of them in a scattered order, the largest identifier of all among them. */
function line(index: number): string {
  if (index === 123_456) return `{"id":${MAX},"petId":${MAX},"status":"pending"}\n`;
  const id = ((Math.floor(index / 1_000) * 389) % 1_000) * 1_000 + (index % 1_000);
  const [status, complete] = [["pending", false] as const, ["shipped", true] as const][index % 2] ?? [];
  return `{"id":${id},"petId":${id % 500},"quantity":${(id % 9) + 1},"shipDate":"2026-11-20T09:30:00Z","complete":${complete},"status":"${status}"}\n`;
}

const badLine = (index: number) => `{"id":${index},"quantity":"${index} pieces"}\n`;

function* lines({ bad }: { bad: boolean }): Generator<string> {
  for (let from = 0; from < MILLION; from += 1_000) {
    const some = Array.from({ length: 1_000 }, (_, index) => line(from + index));
    yield some.join("") + (bad ? badLine(from) : "");
  }
}

/** Looks at a process's memory until it ends; the kernel keeps the peak. */
async function peakMiB(child: ChildProcess): Promise<number> {
  let peak = 0;
  const look = () => {
    if (child.pid === undefined || child.exitCode !== null) return;
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? peak * 1024) / 1024;
  };
  const watch = setInterval(() => {
    try {
      look();
    } catch {
      // It ended between two looks.
    }
  }, 20);
  await new Promise((resolve) => child.once("exit", resolve));
  clearInterval(watch);
  return Math.round(peak);
}

async function importing(file: string, ...words: readonly string[]) {
  const began = performance.now();
  const child = cli.spawn(["orders", "import", file, ...store, "--json", ...words]);
  const [{ status, stdout, stderr }, peak] = await Promise.all([ended(child), peakMiB(child)]);
  const seconds = (performance.now() - began) / 1000;
  const rate = Math.round(MILLION / seconds).toLocaleString("en");
  told(
    `${words.length > 0 ? "with bad lines" : "import"}: ${seconds.toFixed(1)} s, ${rate} lines/s, peak ${peak} MiB`,
  );
  return { status, counts: JSON.parse(stdout), stderr, peak };
}

const measurable = existsSync("/proc/self/status");
if (!measurable)
  process.stderr.write("a million orders: skipped, memory is read from /proc and there is none\n");
describe.skipIf(!measurable)("a million orders (memory is read from /proc)", () => {
  beforeAll(async () => {
    await pipeline(Readable.from(lines({ bad: false })), createWriteStream(good));
    await pipeline(Readable.from(lines({ bad: true })), createWriteStream(mixed));
  });

  test(`are imported in ${MOST_MIB} MiB`, async () => {
    const { status, counts, stderr, peak } = await importing(good);
    expect({ status, counts, stderr }).toEqual({
      status: 0,
      counts: { placed: MILLION, unchanged: 0, rejected: 0 },
      stderr: "",
    });
    expect(peak).toBeGreaterThan(30);
    expect(peak).toBeLessThanOrEqual(MOST_MIB);
  });

  test("again, change nothing", async () => {
    const { status, counts, peak } = await importing(good);
    expect({ status, counts }).toEqual({
      status: 0,
      counts: { placed: 0, unchanged: MILLION, rejected: 0 },
    });
    expect(peak).toBeLessThanOrEqual(MOST_MIB);
  });

  test("with 1,000 bad lines among them: each is named and written out, and none stops another", async () => {
    const { status, counts, stderr, peak } = await importing(mixed, "--rejects", "rejects.ndjson");
    expect({ status, counts }).toEqual({
      status: 1,
      counts: { placed: 0, unchanged: MILLION, rejected: 1_000 },
    });
    const named = Array.from({ length: 1_000 }, (_, index) => (index + 1) * 1_001);
    const reason = "quantity: Write a whole number of at least 0.";
    expect(stderr).toBe(named.map((number) => `line ${number}: ${reason}\n`).join(""));
    const rejects = readFileSync(join(cli.folder, "rejects.ndjson"), "utf8");
    expect(rejects).toBe(named.map((_, index) => badLine(index * 1_000)).join(""));
    expect(peak).toBeLessThanOrEqual(MOST_MIB);
  });

  test("are listed over HTTP: all of them, ascending, every digit there, in bounded memory", async () => {
    await cli.json("accounts", "create", "shop", "--plan", "pro", ...store);
    const { key } = await cli.json<{ key: string }>("keys", "issue", "--account", "shop", ...store);
    const server = cli.spawn(["serve", "--port", "0", ...store]);
    const peak = peakMiB(server);
    const [, url = ""] = /(http:\S+)\/v1/.exec(await written(server, /^database.*\n/m)) ?? [];
    const log = ended(server);

    const began = performance.now();
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/v1/store/orders`, { headers });
    const { count, last, head, tail } = await readList(response);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    expect(response.status).toBe(200);
    expect(count).toBe(MILLION);
    expect(last).toBe(BigInt(MAX));
    expect(head).toMatch(
      /^\[{"id":0,"petId":0,"quantity":1,"shipDate":"2026-11-20T09:30:00Z","complete":false},/,
    );
    expect(tail.endsWith(`,{"id":${MAX},"petId":${MAX}}]`)).toBe(true);

    server.kill("SIGTERM");
    expect((await log).status).toBe(0);
    told(`list: ${seconds} s, peak of the server ${await peak} MiB`);
    expect(await peak).toBeLessThanOrEqual(MOST_MIB);
  });
});

/** Reads a list without holding it; throws where an identifier does not rise. */
async function readList(response: Response) {
  let count = 0;
  let last: bigint | undefined;
  let rest = "";
  let head = "";
  let tail = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true });
    head ||= rest.slice(0, 1_000);
    const whole = rest.lastIndexOf("}") + 1;
    for (const [, digits = ""] of rest.slice(0, whole).matchAll(/{"id":(-?\d+)/g)) {
      const id = BigInt(digits);
      if (last !== undefined && id <= last) throw new Error(`${id} comes after ${last}`);
      last = id;
      count += 1;
    }
    tail = (tail + rest.slice(0, whole)).slice(-1_000);
    rest = rest.slice(whole);
  }
  return { count, last, head, tail: tail + rest };
}
