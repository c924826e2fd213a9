import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { eachOrder } from "../../lib/orders/order-query.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createAccountWithKey, ENTERPRISE } from "../bench/fixture.ts";
import { type Child, startChild } from "../bench/servers/child.ts";
import { memory } from "../bench/servers/process-cost.ts";
import { createCommandLine, waitForOutput } from "../support/command-line.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import type { LoadPlan, LoadResult } from "./load/load-plan.ts";
import { reportFigures } from "./run.ts";

const cli = createCommandLine();
const generators: Child[] = [];
afterAll(async () => {
  await Promise.all(generators.map((generator) => generator.kill()));
  cli[Symbol.dispose]();
});

const SECONDS = 60;
/**
 * In MiB, from the second quarter to the last. V8 grows its young generation in steps, for the last time in the first minute. A leak of 300 bytes
 * per request would exceed the limit in either loop.
 */
const MAX_GROWTH_MIB = { "closed loop": 64, "open loop": 32 };

const noProc = existsSync("/proc/self/status") ? undefined : "this system has no /proc";
const skipsMemory = skipsBecause("growth of the server's memory", noProc);

interface ServedDatabase {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<number | null>;
  readonly path: string;
  readonly plan: Pick<LoadPlan, "url" | "keys" | "freeKeys" | "orders">;
}

/** Starts `store-orders serve` on a database with pending orders from 1 up and many accounts. */
async function serve(name: string, orders: number): Promise<ServedDatabase> {
  const path = join(cli.directory, name);
  const store = createSqliteStore({ path });
  const ids = Array.from({ length: orders }, (_, id) => BigInt(id) + 1n);
  await store.orders.place(
    ids.map((id) => ({ record: { id, petId: 7n, quantity: 1 }, status: "pending" as const })),
  );
  const open = (account: string, plan: Parameters<typeof createAccountWithKey>[2]) =>
    createAccountWithKey(store, account, plan);
  const keys = await Promise.all(Array.from({ length: 32 }, (_, index) => open(`shop-${index}`, ENTERPRISE)));
  const freeKeys = await Promise.all(
    Array.from({ length: 5 }, (_, index) => open(`free-${index}`, { plan: "free" })),
  );
  await store.close();

  const child = cli.spawn(["serve", "--port", "0", "--database", path]);
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  child.once("close", resolve);
  // Every request writes a log line, so the pipe must be drained.
  child.stderr.resume();
  const [, url = ""] = /(http:\S+)\/v1/.exec(await waitForOutput(child, /^database.*\n/m)) ?? [];
  return { child, ended, path, plan: { url, keys, freeKeys, orders } };
}

function startGenerator(plan: LoadPlan): Child {
  const generator = startChild(new URL("load/generator-process.ts", import.meta.url), [JSON.stringify(plan)]);
  generators.push(generator);
  return generator;
}

/** Runs a load, and samples the server's memory meanwhile. */
async function run(
  { child, plan }: ServedDatabase,
  load: Pick<LoadPlan, "connections" | "requests"> & { rate?: number },
) {
  const generator = startGenerator({ ...plan, ...load, seconds: SECONDS });
  const resident: number[] = [];
  const watch = setInterval(() => resident.push(memory(child.pid ?? 0).now), SECONDS * 10);
  const result = await generator.nextMessage<LoadResult>();
  clearInterval(watch);
  await generator.end();
  const quarter = Math.floor(resident.length / 4);
  const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
  return {
    ...result,
    second: mean(resident.slice(quarter, 2 * quarter)),
    last: mean(resident.slice(3 * quarter)),
  };
}

const formatStatuses = (statuses: LoadResult["statuses"]) =>
  Object.entries(statuses)
    .map((entry) => entry.join(": "))
    .join(", ");

test("at saturation, and at 70 % of it in an open loop, every request gets a documented response and memory does not grow", async () => {
  const served = await serve("mix.db", 20);
  const closed = await run(served, { connections: 32, requests: "mix" });
  const rate = 0.7 * closed.perSecond;
  const open = await run(served, { connections: 128, requests: "mix", rate });
  served.child.kill("SIGTERM");
  expect(await served.ended).toBe(0);

  for (const [name, result] of [
    ["closed loop", closed],
    ["open loop", open],
  ] as const) {
    expect(result.lost).toBe(0);
    for (const status of Object.keys(result.statuses))
      expect(["200", "204", "404", "409", "429"]).toContain(status);
    if (!skipsMemory) expect(result.last - result.second, name).toBeLessThan(MAX_GROWTH_MIB[name]);
    reportFigures(`load, ${name}, ${SECONDS} s`, {
      "requests a second": Math.round(result.perSecond),
      "p50, p99, p99.9 in ms": [result.p50, result.p99, result.p999]
        .map((time) => time.toFixed(1))
        .join(", "),
      statuses: formatStatuses(result.statuses),
      "requests without a response": result.lost,
      "resident set, second and last quarter": `${result.second.toFixed(1)}, ${result.last.toFixed(1)} MiB`,
    });
  }
  for (const status of ["200", "204", "404", "409", "429"])
    expect(closed.statuses[status]).toBeGreaterThan(0);
  // In an open loop, a slow response does not delay later requests.
  const responses = Object.values(open.statuses).reduce((sum, times) => sum + times, 0);
  expect(responses).toBeGreaterThanOrEqual(Math.floor(rate * SECONDS));
});

test("after SIGTERM under load, every request gets its response, and the database has exactly the acknowledged cancels", async () => {
  const served = await serve("stop.db", 100_000);
  const { plan, child, path } = served;
  const generator = startGenerator({ ...plan, requests: "cancels", connections: 32, seconds: 60 });
  const lists = readLists(plan.url, plan.keys[0] ?? "");
  await sleep(4_000);
  generator.send("signal");
  child.kill("SIGTERM");
  const { statuses, lost, cancelled, respondedAfterSignal } = await generator.nextMessage<LoadResult>();
  expect(await served.ended).toBe(0);
  expect(lost).toBe(0);
  expect(Object.keys(statuses)).toEqual(["204"]);
  expect(cancelled.length).toBeLessThan(plan.orders);
  expect(respondedAfterSignal).toBeGreaterThan(0);
  expect(new Set(await lists)).toEqual(new Set([plan.orders]));

  const store = createSqliteStore({ path });
  const found: number[] = [];
  for await (const page of eachOrder(store.orders))
    for (const { record, status } of page) if (status === "cancelled") found.push(Number(record.id));
  await store.close();
  expect(found).toEqual(cancelled.toSorted((a, b) => a - b));
  reportFigures("load, SIGTERM in the middle", {
    "acknowledged cancels, exactly those in the database": found.length,
    "of these after SIGTERM": respondedAfterSignal,
    "complete lists meanwhile": (await lists).length,
    "requests without a response": lost,
  });
});

/** Reads the long list repeatedly until the server accepts no connection. Returns the length of each. */
async function readLists(url: string, key: string): Promise<number[]> {
  const lengths: number[] = [];
  for (;;) {
    const headers = { authorization: `Bearer ${key}`, connection: "close" };
    const response = await fetch(`${url}/v1/store/orders`, { headers }).catch((error: Error) => error);
    if (response instanceof Error) {
      expect(response.cause).toMatchObject({ code: "ECONNREFUSED" });
      return lengths;
    }
    const orders = (await response.json()) as unknown[];
    lengths.push(orders.length);
  }
}
