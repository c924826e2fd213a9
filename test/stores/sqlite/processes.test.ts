import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { ACCOUNT, AT, KEY, temporaryDirectory } from "./fixture.ts";

const { newPath } = temporaryDirectory();

/** Runs each job in its own process, all at once. */
async function runInProcesses<T>(
  path: string,
  jobs: readonly (readonly (string | number)[])[],
): Promise<T[]> {
  const worker = new URL("worker-process.ts", import.meta.url).pathname;
  const children = jobs.map(([job, ...rest]) => {
    const args = [worker, job, path, ...rest].map(String);
    return spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  });
  await Promise.all(children.map(({ stdout }) => once(stdout, "data")));
  const results = children.map(({ stdout }) => text(stdout));
  for (const { stdin } of children) stdin.write("go\n");
  return (await Promise.all(results)).map((result) => JSON.parse(result) as T);
}

describe("processes that share a file", () => {
  test("eight processes get exactly 60 requests of a Free account admitted in one minute", async () => {
    const path = newPath();
    const store = createSqliteStore({ path });
    await store.accounts.create(ACCOUNT);
    const outcomes = (
      await runInProcesses<string[]>(path, new Array(8).fill(["admit", "acme", KEY.hash, 20, AT]))
    ).flat();
    expect(outcomes).toHaveLength(160);
    expect(outcomes.filter((outcome) => outcome === "admitted")).toHaveLength(60);
    expect(outcomes.filter((outcome) => outcome === "rate_limit_exceeded")).toHaveLength(20);
    expect((await store.accounts.find("acme"))?.usage.minute.count).toBe(60);
    await store.close();
  });

  test("when four processes cancel and ship 1,000 orders, exactly one event succeeds for each order", async () => {
    const path = newPath();
    const store = createSqliteStore({ path });
    await store.orders.place(
      Array.from({ length: 1_000 }, (_, id) => ({ record: { id: BigInt(id) }, status: "pending" })),
    );
    const races = await runInProcesses<{
      event: string;
      succeeded: number[];
      statuses: Record<string, string>;
    }>(
      path,
      ["cancel", "ship", "cancel", "ship"].map((event) => ["race", event, 1_000, AT]),
    );
    const winners = races.flatMap(({ event, succeeded }) => succeeded.map((id) => [id, event] as const));
    expect(winners.map(([id]) => id).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 1_000 }, (_, id) => id),
    );
    expect(new Set(winners.map(([, event]) => event)).size, "both events succeed for some orders").toBe(2);
    const state = new Map(winners.map(([id, event]) => [id, event === "cancel" ? "cancelled" : "shipped"]));
    for (const [id, status] of state) expect((await store.orders.find(BigInt(id)))?.status).toBe(status);
    for (const { statuses } of races)
      for (const [id, status] of Object.entries(statuses)) expect(status).toBe(state.get(Number(id)));
    await store.close();
  });

  test("an account is read either before or after an update by another process, never in between", async () => {
    const path = newPath();
    const store = createSqliteStore({ path });
    await store.accounts.create(ACCOUNT);
    let isDone = false;
    const updating = runInProcesses(path, [["update", "acme", 500]]).finally(() => {
      isDone = true;
    });
    const inconsistent: unknown[] = [];
    while (!isDone) {
      const seen = await store.accounts.find("acme");
      if (seen?.customLimits?.perMinute !== seen?.keys[0]?.expiresAt) inconsistent.push(seen);
      await setImmediate();
    }
    expect(await updating).toEqual(["updated"]);
    expect(inconsistent).toEqual([]);
    await store.close();
  });

  test("eight processes can create the same database at once", async () => {
    const path = newPath();
    expect(await runInProcesses(path, new Array(8).fill(["open"]))).toEqual(new Array(8).fill("opened"));
  });
});
