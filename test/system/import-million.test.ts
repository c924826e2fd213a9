import type { ChildProcess } from "node:child_process";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCommandLine, waitForExit, waitForOutput } from "../support/command-line.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { skipsBecause } from "../support/skip-reason.ts";

const MILLION = 1_000_000;
const MAX = "9223372036854775807";
const MAX_MIB = 150;
/** The driver is 20 MiB larger than SQLite. */
const MAX_POSTGRES_MIB = 170;

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());
const validFile = join(cli.directory, "good.ndjson");
const mixedFile = join(cli.directory, "mixed.ndjson");
const report = (line: string) => process.stderr.write(`      ${line}\n`);

/** A million orders: blocks of 1,000 in scattered order, and one with the largest ID. */
function line(index: number): string {
  if (index === 123_456) return `{"id":${MAX},"petId":${MAX},"status":"pending"}\n`;
  const id = ((Math.floor(index / 1_000) * 389) % 1_000) * 1_000 + (index % 1_000);
  const [status, complete] = [["pending", false] as const, ["shipped", true] as const][index % 2] ?? [];
  return `{"id":${id},"petId":${id % 500},"quantity":${(id % 9) + 1},"shipDate":"2026-11-20T09:30:00Z","complete":${complete},"status":"${status}"}\n`;
}

const invalidLine = (index: number) => `{"id":${index},"quantity":"${index} pieces"}\n`;

function* lines({ withInvalid }: { withInvalid: boolean }): Generator<string> {
  for (let from = 0; from < MILLION; from += 1_000) {
    const block = Array.from({ length: 1_000 }, (_, index) => line(from + index));
    yield block.join("") + (withInvalid ? invalidLine(from) : "");
  }
}

/** Polls the peak memory of a process, as the kernel reports it, until the process exits. */
async function peakMiB(child: ChildProcess): Promise<number> {
  let peak = 0;
  const poll = () => {
    if (child.pid === undefined || child.exitCode !== null) return;
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? peak * 1024) / 1024;
  };
  const watch = setInterval(() => {
    try {
      poll();
    } catch {
      // The process exited.
    }
  }, 20);
  await new Promise((resolve) => child.once("exit", resolve));
  clearInterval(watch);
  return Math.round(peak);
}

async function runImport(store: readonly string[], file: string, ...args: readonly string[]) {
  const began = performance.now();
  const child = cli.spawn(["orders", "import", file, ...store, "--json", ...args]);
  const [{ status, stdout, stderr }, peak] = await Promise.all([waitForExit(child), peakMiB(child)]);
  const seconds = (performance.now() - began) / 1000;
  const rate = Math.round(MILLION / seconds).toLocaleString("en");
  report(
    `${args.length > 0 ? "with invalid lines" : "import"}: ${seconds.toFixed(1)} s, ${rate} lines/s, peak ${peak} MiB`,
  );
  return { status, counts: JSON.parse(stdout), stderr, peak };
}

const reason = existsSync("/proc/self/status") ? undefined : "there is no /proc to read memory from";
describe.skipIf(skipsBecause("a million orders", reason))(
  "a million orders (memory is read from /proc)",
  () => {
    beforeAll(async () => {
      await pipeline(Readable.from(lines({ withInvalid: false })), createWriteStream(validFile));
      await pipeline(Readable.from(lines({ withInvalid: true })), createWriteStream(mixedFile));
    });

    testMillion("SQLite", MAX_MIB, () => SQLITE);

    test("1,000 invalid lines among them are reported and written to --rejects, and the others are imported", async () => {
      const { status, counts, stderr, peak } = await runImport(
        SQLITE,
        mixedFile,
        "--rejects",
        "rejects.ndjson",
      );
      expect({ status, counts }).toEqual({
        status: 1,
        counts: { placed: 0, unchanged: MILLION, rejected: 1_000 },
      });
      const numbers = Array.from({ length: 1_000 }, (_, index) => (index + 1) * 1_001);
      const message = "quantity: Write a whole number from 0 to 2147483647, in plain digits.";
      const reports = numbers.map((line) => `${JSON.stringify({ code: "rejected", line, message })}\n`);
      expect(stderr).toBe(reports.join(""));
      const rejects = readFileSync(join(cli.directory, "rejects.ndjson"), "utf8");
      expect(rejects).toBe(numbers.map((_, index) => invalidLine(index * 1_000)).join(""));
      expect(peak).toBeLessThanOrEqual(MAX_MIB);
    });

    describe.skipIf(skipsWithoutPostgres("a million orders in PostgreSQL"))("in PostgreSQL", () => {
      let server: PostgresServer;
      beforeAll(async () => {
        server = await startPostgres();
      });
      afterAll(() => server.remove());
      testMillion("PostgreSQL", MAX_POSTGRES_MIB, () => ["--postgres", server.url()]);
    });
  },
);

const SQLITE = ["--database", "million.db"];

/** Defines the tests of a million orders on a store, which is empty. */
function testMillion(engine: string, maxMiB: number, storeOptions: () => readonly string[]): void {
  test(`a million orders are imported into ${engine} with at most ${maxMiB} MiB of memory`, async () => {
    const { status, counts, stderr, peak } = await runImport(storeOptions(), validFile);
    expect({ status, counts, stderr }).toEqual({
      status: 0,
      counts: { placed: MILLION, unchanged: 0, rejected: 0 },
      stderr: "",
    });
    expect(peak).toBeGreaterThan(30);
    expect(peak).toBeLessThanOrEqual(maxMiB);
  });

  test(`a repeated import of a million orders into ${engine} changes nothing`, async () => {
    const { status, counts, peak } = await runImport(storeOptions(), validFile);
    expect({ status, counts }).toEqual({
      status: 0,
      counts: { placed: 0, unchanged: MILLION, rejected: 0 },
    });
    expect(peak).toBeLessThanOrEqual(maxMiB);
  });

  test(`a million orders in ${engine} are listed over HTTP, ascending and with exact IDs, in bounded memory`, async () => {
    const store = storeOptions();
    await cli.json("accounts", "create", "acme", "--plan", "pro", ...store);
    const { key } = await cli.json<{ key: string }>("keys", "issue", "--account", "acme", ...store);
    // As the scripts, the unit and the image start it.
    const env = { NODE_OPTIONS: "--max-semi-space-size=8" };
    const server = cli.spawn(["serve", "--port", "0", ...store], { env });
    const peak = peakMiB(server);
    const [, url = ""] = /(http:\S+)\/v1/.exec(await waitForOutput(server, /^database.*\n/m)) ?? [];
    const log = waitForExit(server);

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
    report(`list: ${seconds} s, peak of the server ${await peak} MiB`);
    expect(await peak).toBeLessThanOrEqual(maxMiB);
  });
}

/** Reads a list without keeping it in memory; throws if the IDs do not ascend. */
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
      if (last !== undefined && id <= last) throw new Error(`${id} follows ${last}`);
      last = id;
      count += 1;
    }
    tail = (tail + rest.slice(0, whole)).slice(-1_000);
    rest = rest.slice(whole);
  }
  return { count, last, head, tail: tail + rest };
}
