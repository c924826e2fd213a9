import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ORDER_STATUSES } from "../../../lib/orders/lifecycle.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createCommandLine } from "../../support/command-line.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());
const MAX = 9_223_372_036_854_775_807n;

beforeAll(async () => {
  const store = createSqliteStore({ path: join(cli.directory, ".data/store-orders.db") });
  const orders = Array.from({ length: 1_200 }, (_, index) => ({
    record: { id: BigInt(10_000 + index), petId: 1_000_000n, quantity: 12_345 },
    status: ORDER_STATUSES[index % 3] ?? "pending",
  }));
  await store.orders.place([{ record: { id: MAX }, status: "cancelled" }, ...orders]);
  await store.close();
});

test("orders get prints an order with its int64 IDs exact and without separators", async () => {
  expect(await cli.run(["orders", "get", `${MAX}`, "--json"])).toEqual({
    status: 0,
    stdout: `{"id":${MAX},"status":"cancelled"}\n`,
    stderr: "",
  });
  const { stdout } = await cli.run(["orders", "get", "10000"]);
  expect(stdout).toBe("id         10000\npet id     1000000\nquantity   12,345\nstatus     pending\n");
  expect(await cli.json("orders", "get", "10000")).toMatchObject({ quantity: 12_345 });
  expect(await cli.run(["orders", "get", "7"])).toEqual({
    status: 1,
    stdout: "",
    stderr: "error: 7: There is no order with this identifier.\n",
  });
});

test("orders list prints the first orders in ascending order, and reports that there are more", async () => {
  const first = await cli.run(["orders", "list", "--json"]);
  expect(first.status).toBe(0);
  const ids = JSON.parse(first.stdout).map(({ id }: { id: number }) => id);
  expect(ids).toEqual(Array.from({ length: 100 }, (_, index) => 10_000 + index));
  expect(first.stderr).toBe(
    "There are more orders than these 100. Use a larger --limit, or 'orders export' for all.\n",
  );
  const all = await cli.run(["orders", "list", "--limit", "1201", "--json"]);
  expect(all.stderr).toBe("");
  expect(all.stdout.match(/"id":/g)).toHaveLength(1_201);
});

test("orders list --status lists only the orders with that status, up to the limit", async () => {
  const shipped = await cli.json<{ id: number; status: string }[]>(
    ...["orders", "list", "--status", "shipped", "--limit", "2"],
  );
  expect(shipped.map(({ id, status }) => [id, status])).toEqual([
    [10_001, "shipped"],
    [10_004, "shipped"],
  ]);
  const { stdout } = await cli.run(["orders", "list", "--status", "cancelled", "--limit", "401"]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^id +pet id +quantity +ship date +complete +status$/);
  expect(lines).toHaveLength(402);
  expect(lines.at(-1)).toMatch(new RegExp(`^${MAX} +- +- +- +- +cancelled$`));
});

test("an order with a status that no rule knows is listed and exported with a warning, and cannot be cancelled", async () => {
  const path = join(cli.directory, "edited.db");
  await createSqliteStore({ path }).close();
  const db = new DatabaseSync(path);
  db.exec(`INSERT INTO orders VALUES (1, 'pending', '{"id":1}'), (2, 'lost\u001b[2J', '{"id":2}')`);
  db.close();
  const run = (command: string) => cli.run([...command.split(" "), "--database", path]);
  const problem = "Order 2 has the status 'lost?[2J', which is none of pending, shipped, cancelled.";
  const [list, get, exported, cancel] = await Promise.all(
    ["orders list", "orders get 2", "orders export", "orders cancel 2"].map(run),
  );
  expect(list).toMatchObject({ status: 0, stdout: expect.stringMatching(/pending\n2 .*lost\?\[2J\n$/) });
  expect(get).toMatchObject({ status: 0, stdout: "id       2\nstatus   lost?[2J\n" });
  expect(exported).toMatchObject({
    status: 0,
    stdout: '{"id":1,"status":"pending"}\n{"id":2,"status":"lost\\u001b[2J"}\n',
    stderr: `Warning: ${problem} Correct it in the database.\n`,
  });
  expect(cancel).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(problem) });
});
