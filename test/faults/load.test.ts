import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { eachOrder } from "../../lib/orders/order-query.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createAccountWithKey, ENTERPRISE } from "../bench/fixture.ts";
import { type Child, startChild } from "../support/child.ts";
import { createCommandLine } from "../support/command-line.ts";
import { memory } from "../support/process-cost.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import type { LoadPlan, LoadResult } from "./load/generator-process.ts";
import { reportFigures } from "./run.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

const SECONDS = 20;
/** From the second quarter to the last: less than a leak of 300 bytes per request. */
const MAX_GROWTH_MIB = 16;

const noProc = existsSync("/proc/self/status") ? undefined : "this system has no /proc";
const skipsMemory = skipsBecause("growth of the server's memory", noProc);

/** Starts `store-orders serve` on a database with pending orders from 1 up and many accounts. */
async function serve(name: string, orders: number) {
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

  // As the scripts, the unit and the image start it. Without the flag, V8 grows its young generation for a minute.
  const env = { NODE_OPTIONS: "--max-semi-space-size=4" };
  const { child, url, stop } = await cli.serve(["--database", path], { env });
  return { child, stop, path, plan: { url, keys, freeKeys, orders } };
}

function startGenerator(plan: LoadPlan): Child {
  const generator = startChild(new URL("load/generator-process.ts", import.meta.url), [JSON.stringify(plan)]);
  onTestFinished(() => generator.kill());
  return generator;
}

test("at saturation, every request gets a documented response and memory does not grow", async () => {
  const { child, stop, plan } = await serve("mix.db", 20);
  const generator = startGenerator({ ...plan, connections: 32, requests: "mix", seconds: SECONDS });
  const resident: number[] = [];
  const watch = setInterval(() => resident.push(memory(child.pid ?? 0).now), SECONDS * 10);
  const { statuses, lost } = await generator.nextMessage<LoadResult>();
  clearInterval(watch);
  expect((await stop()).status).toBe(0);

  expect(lost).toBe(0);
  expect(Object.keys(statuses)).toEqual(["200", "204", "404", "409", "429"]);
  const quarter = Math.floor(resident.length / 4);
  const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const [second, last] = [mean(resident.slice(quarter, 2 * quarter)), mean(resident.slice(3 * quarter))];
  if (!skipsMemory) expect(last - second).toBeLessThan(MAX_GROWTH_MIB);
  const format = Object.entries(statuses).map((entry) => entry.join(": "));
  reportFigures(`load, ${SECONDS} s`, {
    statuses: format.join(", "),
    "requests without a response": lost,
    "resident set, second and last quarter": `${second.toFixed(1)}, ${last.toFixed(1)} MiB`,
  });
});

test("after SIGTERM under load, every request gets its response, and the database has exactly the acknowledged cancels", async () => {
  const served = await serve("stop.db", 100_000);
  const { plan, stop, path } = served;
  const generator = startGenerator({ ...plan, requests: "cancels", connections: 32, seconds: 60 });
  const lists = readLists(plan.url, plan.keys[0] ?? "");
  await sleep(2_000);
  generator.send("signal");
  const stopped = stop();
  const { statuses, lost, cancelled, respondedAfterSignal } = await generator.nextMessage<LoadResult>();
  expect((await stopped).status).toBe(0);
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
