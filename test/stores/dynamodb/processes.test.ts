import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { eachOrder } from "../../../lib/orders/order-query.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";
import type { Task } from "./worker-process.ts";

const AT = Date.UTC(2026, 10, 20, 12);

const emulator = useEmulator();

/** Starts one process per task, runs all tasks at once, and returns their results. */
async function runTogether(prefix: string, tasks: readonly Task[]): Promise<readonly (readonly string[])[]> {
  const program = new URL("worker-process.ts", import.meta.url);
  const workers = tasks.map((task) => {
    const worker = fork(program, [emulator.endpoint, prefix]);
    worker.send(task);
    return worker;
  });
  await Promise.all(workers.map(message));
  for (const worker of workers) worker.send("go");
  return (await Promise.all(workers.map(message))) as string[][];
}

async function message(worker: ChildProcess): Promise<unknown> {
  const failed = once(worker, "exit").then(([code]) =>
    Promise.reject(new Error(`A process ended with ${code}.`)),
  );
  return (await Promise.race([once(worker, "message"), failed]))[0];
}

test("eight processes get exactly 60 requests of a Free account admitted in one minute", async () => {
  await createDynamodbTables({ prefix: "admit", client: emulator.client });
  const { accounts } = createDynamodbStore({ prefix: "admit", client: emulator.client });
  const hash = "1".repeat(64);
  await accounts.create({
    id: "acme",
    plan: "free",
    keys: [{ id: "acme.first", hash, createdAt: AT }],
  });
  const admit = { accountId: "acme", hash, at: AT, calls: 20 };
  const outcomes = (await runTogether("admit", Array(8).fill({ admit }))).flat();
  expect(outcomes).toHaveLength(160);
  expect(outcomes.filter((outcome) => outcome === "admitted")).toHaveLength(60);
  const account = await accounts.find("acme");
  expect(account?.usage.minute.count).toBe(60);
  expect(account?.rejections["acme.first"]?.count).toBe(100);
});

test("when four processes cancel and ship 300 orders, exactly one event succeeds for each order", async () => {
  await createDynamodbTables({ prefix: "events", client: emulator.client });
  const { orders } = createDynamodbStore({ prefix: "events", client: emulator.client });
  const ids = Array.from({ length: 300 }, (_, index) => BigInt(index));
  await orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));
  const applyAll = (event: "cancel" | "ship") => ({ apply: { event, orders: ids.length, at: AT } });
  const events = ["cancel", "ship", "cancel", "ship"] as const;
  const applied = await runTogether("events", events.map(applyAll));
  expect(applied.flat().toSorted()).toEqual(ids.map(String).toSorted());
  const winners = new Map(applied.flatMap((won, index) => won.map((id) => [BigInt(id), events[index]])));
  for await (const page of eachOrder(orders)) {
    for (const { record, status } of page) {
      expect(status).toBe(winners.get(record.id) === "ship" ? "shipped" : "cancelled");
    }
  }
  expect(new Set(winners.values())).toEqual(new Set(events));
});

test("a rejection is decided again if another process opens a new minute in between", async () => {
  await createDynamodbTables({ prefix: "overtaken", client: emulator.client });
  const { accounts } = createDynamodbStore({ prefix: "overtaken", client: emulator.client });
  const key = { id: "acme.first", hash: "1".repeat(64), createdAt: AT };
  await accounts.create({
    id: "acme",
    plan: "enterprise",
    customLimits: { perMinute: 2, perDay: 100 },
    keys: [key],
  });
  const presented = { accountId: "acme", hash: key.hash };
  for (let call = 0; call < 2; call++) await accounts.admit(presented, AT);

  const late = clientFor(emulator.endpoint);
  let writes = 0;
  late.middlewareStack.add(
    (next) => async (request) => {
      if (++writes === 2) await accounts.admit(presented, AT + MINUTE_MS);
      return next(request);
    },
    { step: "initialize" },
  );
  const decided = await createDynamodbStore({ prefix: "overtaken", client: late }).accounts.admit(
    presented,
    AT,
  );
  late.destroy();
  expect(decided.ok).toBe(true);
  const account = await accounts.find("acme");
  expect(account?.usage.minute).toEqual({ start: AT + MINUTE_MS, count: 2 });
  expect(account?.rejections).toEqual({});
});
