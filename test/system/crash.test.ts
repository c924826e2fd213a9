import { Agent, request } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { createSqliteStore } from "../../lib/stores/sqlite.ts";
import { commandLine, ended, written } from "../cli/command-line.ts";

const ROUNDS = 8;
const AT_ONCE = 32;
/** More than a round gets through before the kill. */
const ORDERS = 20_000;

const cli = commandLine();
afterAll(() => cli[Symbol.dispose]());
const database = join(cli.folder, "crash.db");
const store = ["--database", database];

/** Cancels orders one after another over one connection; tells which were answered with 204 until the end came. */
async function cancelling(url: string, key: string, ids: Iterator<bigint>, done: (id: bigint) => void) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    for (let { value: id } = ids.next(); id !== undefined; { value: id } = ids.next()) {
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: `Bearer ${key}` };
        const options = { method: "DELETE", agent, headers };
        request(`${url}/v1/store/orders/${id}`, options, (response) => {
          response.resume().once("end", () => resolve(response.statusCode));
        })
          .once("error", reject)
          .end();
      });
      if (status !== 204) throw new Error(`order ${id} was answered with ${status}`);
      done(id);
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
  } finally {
    agent.destroy();
  }
}

test("kill -9 amid cancels: what was answered with 204 is cancelled, and the database is whole", async () => {
  const filled = createSqliteStore({ path: database });
  for (let from = 0; from < ORDERS; from += 1_000) {
    const some = Array.from({ length: 1_000 }, (_, index) => BigInt(from + index));
    await filled.orders.place(some.map((id) => ({ record: { id, petId: id }, status: "pending" })));
  }
  await filled.close();
  const terms = ["--plan", "enterprise", "--per-minute", "60000", "--per-day", "10000000"];
  await cli.json("accounts", "create", "shop", ...terms, ...store);
  const { key } = await cli.json<{ key: string }>("keys", "issue", "--account", "shop", ...store);

  let next = 0n;
  const answered = new Set<bigint>();
  const ids = (function* () {
    while (next < BigInt(ORDERS)) yield next++;
  })();
  for (let round = 1; round <= ROUNDS; round++) {
    const server = cli.spawn(["serve", "--port", "0", ...store]);
    const [, url = ""] = /(http:\S+)\/v1/.exec(await written(server, /^database.*\n/m)) ?? [];
    const over = ended(server);
    const before = answered.size;
    const killAfter = 20 + round * 37;
    const done = (id: bigint) => {
      answered.add(id);
      if (answered.size - before === killAfter) server.kill("SIGKILL");
    };
    await Promise.all(Array.from({ length: AT_ONCE }, () => cancelling(url, key, ids, done)));
    expect((await over).status).toBeNull();
    expect(answered.size - before).toBeGreaterThanOrEqual(killAfter);

    const db = new DatabaseSync(database);
    expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    db.close();
    const restarted = createSqliteStore({ path: database });
    const lost: bigint[] = [];
    for (const id of answered) {
      const order = await restarted.orders.find(id);
      if (order?.status !== "cancelled") lost.push(id);
    }
    expect(lost, `round ${round}`).toEqual([]);
    // Nothing was touched that nobody asked for.
    expect((await restarted.orders.find(next))?.status).toBe("pending");
    await restarted.close();
  }
  expect(answered.size).toBeLessThan(ORDERS);
});
