import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { openStore, type StoreAddress } from "../support/store-address.ts";
import type { Task } from "./worker-process.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY = { id: "acme.first", hash: "1".repeat(64), createdAt: AT };

/** Starts one process per task, runs all tasks at once, and returns their results. */
async function runTogether(
  address: StoreAddress,
  tasks: readonly Task[],
): Promise<readonly (readonly string[])[]> {
  const program = new URL("worker-process.ts", import.meta.url);
  const workers = tasks.map(() => fork(program, [JSON.stringify(address)]));
  await Promise.all(workers.map(nextMessage));
  for (const [index, worker] of workers.entries()) worker.send(tasks[index] as Task);
  return (await Promise.all(workers.map(nextMessage))) as string[][];
}

async function nextMessage(worker: ChildProcess): Promise<unknown> {
  const failed = once(worker, "exit").then(([code]) =>
    Promise.reject(new Error(`A process ended with ${code}.`)),
  );
  return (await Promise.race([once(worker, "message"), failed]))[0];
}

/** Defines the tests of several processes on one database. `create` returns an empty one. */
export function testProcesses(
  engine: string,
  create: () => StoreAddress | Promise<StoreAddress>,
  { races }: { readonly races: number },
): void {
  test(`of 400 requests in eight processes, exactly 60 of a Free account are admitted on ${engine}`, async () => {
    const address = await create();
    const store = await openStore(address);
    await store.accounts.create({ id: "acme", plan: "free", keys: [KEY] });
    const admit = { accountId: "acme", hash: KEY.hash };
    const outcomes = (await runTogether(address, Array(8).fill({ admit, at: AT, calls: 50 }))).flat();
    expect(outcomes.filter((outcome) => outcome === "admitted")).toHaveLength(60);
    expect(outcomes.filter((outcome) => outcome === "rate_limit_exceeded")).toHaveLength(340);
    const account = await store.accounts.find("acme");
    expect(account?.usage.minute.count).toBe(60);
    // All of them are within ten seconds of the first.
    expect(account?.rejections[KEY.id]).toMatchObject({ count: 0, firstAt: expect.any(Number) });
    await store.close();
  });

  test(`when four processes cancel and ship ${races} orders on ${engine}, one event succeeds, and the others get its status`, async () => {
    const address = await create();
    const store = await openStore(address);
    const ids = Array.from({ length: races }, (_, id) => BigInt(id));
    await store.orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));
    const events = ["cancel", "ship", "cancel", "ship"] as const;
    // Each event has an order before the race: it succeeds for some, however the processes are scheduled.
    const first = new Map<bigint, (typeof events)[number]>([
      [0n, "cancel"],
      [BigInt(races - 1), "ship"],
    ]);
    for (const [id, event] of first)
      expect(await store.orders.apply(id, event, AT)).toMatchObject({ ok: true });
    const results = await runTogether(
      address,
      events.map((apply) => ({ apply, at: AT, orders: races })),
    );
    const wrong: unknown[] = [];
    for (const id of ids) {
      const outcomes = results.map((result) => result[Number(id)]);
      const status = (await store.orders.find(id))?.status;
      const won = events.filter((_, index) => outcomes[index] === "succeeded");
      const successes = [first.get(id) ?? [], won].flat();
      const lost = outcomes.filter((outcome) => outcome === `order_already_${status}`);
      if (successes.length !== 1 || won.length + lost.length !== 4) wrong.push({ id, status, outcomes });
      if (status !== (successes[0] === "cancel" ? "cancelled" : "shipped"))
        wrong.push({ id, status, successes });
    }
    expect(wrong).toEqual([]);
    await store.close();
  });
}
