import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseLine } from "../../lib/orders/wire.ts";
import { createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createCommandLine, waitForExit } from "../support/command-line.ts";
import { readTable, useSession } from "../support/console.ts";
import { environmentFor } from "../support/dynamodb/emulator.ts";
import { fillOrders } from "../support/dynamodb/fill.ts";
import { useEmulator } from "../support/dynamodb/use-emulator.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { memory } from "../support/process-cost.ts";
import { skipsBecause } from "../support/skip-reason.ts";

const MILLION = 1_000_000;
const MAX = "9223372036854775807";
const INDEX_OF_MAX = 123_456;
/** The emulator takes longer. */
const LISTED = 100_000;
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
  if (index === INDEX_OF_MAX) return `{"id":${MAX},"petId":${MAX},"status":"pending"}\n`;
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
  const watch = setInterval(() => {
    // Nothing is known of a process that has exited.
    peak = Math.max(peak, memory(child.pid ?? 0).peak || 0);
  }, 20);
  await once(child, "exit");
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
    const skipsPostgres = skipsWithoutPostgres("a million orders in PostgreSQL");
    let server: PostgresServer | undefined;
    let postgresImport: ReturnType<typeof runImport>;
    const postgres = () => ["--postgres", server?.url() ?? expect.fail()];
    beforeAll(async () => {
      await pipeline(Readable.from(lines({ withInvalid: false })), createWriteStream(validFile));
      await pipeline(Readable.from(lines({ withInvalid: true })), createWriteStream(mixedFile));
      if (skipsPostgres) return;
      server = await startPostgres();
      // It takes as long as all tests of SQLite, which use one core.
      postgresImport = runImport(postgres(), validFile);
      postgresImport.catch(() => {});
    });
    afterAll(() => server?.remove());

    test("a million orders are imported into SQLite, and 1,000 invalid lines among them are reported and written to --rejects", async () => {
      const { status, counts, stderr, peak } = await runImport(
        SQLITE,
        mixedFile,
        "--rejects",
        "rejects.ndjson",
      );
      expect({ status, counts }).toEqual({
        status: 1,
        counts: { placed: MILLION, unchanged: 0, rejected: 1_000 },
      });
      const numbers = Array.from({ length: 1_000 }, (_, index) => (index + 1) * 1_001);
      const message = "quantity: Write a whole number from 0 to 2147483647, in plain digits without quotes.";
      const reports = numbers.map((line) => `${JSON.stringify({ code: "rejected", line, message })}\n`);
      expect(stderr).toBe(reports.join(""));
      const rejects = readFileSync(join(cli.directory, "rejects.ndjson"), "utf8");
      expect(rejects).toBe(numbers.map((_, index) => invalidLine(index * 1_000)).join(""));
      expect(peak).toBeGreaterThan(30);
      expect(peak).toBeLessThanOrEqual(MAX_MIB);
    });

    testList("SQLite", MILLION, { storeOptions: () => SQLITE, maxMiB: () => MAX_MIB });

    test("the console counts them for every page, and pages through them within 250 ms of processor time a page", async () => {
      const store = createSqliteStore({ path: join(cli.directory, "million.db") });
      onTestFinished(() => store.close());
      const { get } = await useSession({ store });
      const times: number[] = [];
      const pages: Awaited<ReturnType<typeof readTable>>[] = [];
      const load = async (path: string) => {
        const before = process.cpuUsage();
        const page = await readTable(await get(path));
        const { user, system } = process.cpuUsage(before);
        times.push((user + system) / 1_000);
        pages.push(page);
        return page;
      };
      const countsOf = ({ text }: { readonly text: string }) =>
        [...text.matchAll(/<dd>([\d,]+)<\/dd>/g)].map(([, count]) => count);

      const counts = async () => countsOf(await load("orders"));
      await expect.poll(counts, { timeout: 60_000 }).toEqual(["1,000,000", "500,000", "500,000", "0"]);
      pages.length = 0;
      let page = await load("orders");
      for (let turns = 0; turns < 200; turns++) page = await load(page.links["Next page"] ?? "");
      const sorted = times.toSorted((a, b) => a - b);
      report(`pages of the console: ${["first", times[0], "longest", sorted.at(-1)].join(" ")} ms`);
      expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThan(250);
      // With a collection of garbage.
      expect(sorted.at(-1)).toBeLessThan(1_000);
      const [first, ...ids] = pages.flatMap(({ rows }) => rows);
      expect(first).toBe(MAX);
      expect(ids).toEqual(Array.from({ length: 50 * pages.length - 1 }, (_, index) => `${999_999 - index}`));
    });

    describe("in DynamoDB", () => {
      const emulator = useEmulator();
      beforeAll(async () => {
        await createDynamodbTables({ prefix: "many", client: emulator.client });
        const orderAt = (index: number) => {
          const parsed = parseLine(line(index === LISTED - 1 ? INDEX_OF_MAX : index));
          return parsed.ok ? parsed.order : expect.fail();
        };
        await fillOrders(emulator.client, "many", LISTED, orderAt);
      }, 300_000);
      testList("DynamoDB", LISTED, {
        storeOptions: () => ["--dynamodb", "many"],
        environment: () => environmentFor(emulator.endpoint),
        maxMiB: (idle) => idle + 96,
      });
    });

    describe.skipIf(skipsPostgres)("in PostgreSQL", () => {
      test(`a million orders are imported with at most ${MAX_POSTGRES_MIB} MiB of memory`, async () => {
        const { status, counts, stderr, peak } = await postgresImport;
        expect({ status, counts, stderr }).toEqual({
          status: 0,
          counts: { placed: MILLION, unchanged: 0, rejected: 0 },
          stderr: "",
        });
        expect(peak).toBeGreaterThan(30);
        expect(peak).toBeLessThanOrEqual(MAX_POSTGRES_MIB);
      });
      testList("PostgreSQL", MILLION, { storeOptions: postgres, maxMiB: () => MAX_POSTGRES_MIB });
    });
  },
);

const SQLITE = ["--database", "million.db"];

/** Defines the test of a long list on a store that has it, with IDs from 0 and the largest one. */
function testList(
  engine: string,
  orders: number,
  {
    storeOptions,
    environment = () => ({}),
    maxMiB,
  }: {
    readonly storeOptions: () => readonly string[];
    readonly environment?: () => Readonly<Record<string, string>>;
    /** Of the server, which has this much while it is idle. */
    readonly maxMiB: (idle: number) => number;
  },
): void {
  test(`${orders} orders in ${engine} are listed over HTTP, ascending and with exact IDs, in bounded memory`, async () => {
    // As the scripts, the unit and the image start it.
    const env = { NODE_OPTIONS: "--max-semi-space-size=4", ...environment() };
    const run = (...args: string[]) => cli.run([...args, ...storeOptions(), "--json"], { env });
    expect((await run("accounts", "create", "acme", "--plan", "pro")).status).toBe(0);
    const { key } = JSON.parse((await run("keys", "issue", "--account", "acme")).stdout);
    const { child, url, stop } = await cli.serve(storeOptions(), { env });
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${url}/v1/store/orders/-1`, { method: "DELETE", headers })).status).toBe(404);
    const idle = memory(child.pid ?? 0).now;

    const began = performance.now();
    const response = await fetch(`${url}/v1/store/orders`, { headers });
    const firstMs = performance.now() - began;
    const { count, last, head, tail } = await readList(response);
    const totalMs = performance.now() - began;
    expect(response.status).toBe(200);
    expect([count, last]).toEqual([orders, BigInt(MAX)]);
    expect(head).toMatch(
      /^\[{"id":0,"petId":0,"quantity":1,"shipDate":"2026-11-20T09:30:00Z","complete":false},/,
    );
    expect(tail.endsWith(`,{"id":${MAX},"petId":${MAX}}]`)).toBe(true);
    // The first byte includes the admission.
    expect(firstMs).toBeLessThan(totalMs / 2);
    const { peak } = memory(child.pid ?? 0);
    expect((await stop()).status).toBe(0);
    report(
      `list: ${(totalMs / 1000).toFixed(1)} s, memory ${Math.round(idle)} MiB, peak ${Math.round(peak)} MiB`,
    );
    expect(peak).toBeLessThanOrEqual(maxMiB(idle));
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
