import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, expect, test } from "vitest";
import { LIFECYCLE } from "../../../lib/orders/lifecycle.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { useCommandLine, waitForExit } from "../../support/command-line.ts";

const cli = useCommandLine();
const MAX = "9223372036854775807";

test("an order is placed, shipped and fulfilled, with its int64 IDs exact", async () => {
  const fields = ["--pet-id", MAX, "--quantity", "2", "--ship-date", "2026-11-20T09:30:00+01:00"];
  const placed = await cli.run(["orders", "place", "--id", MAX, ...fields, "--json"]);
  expect(placed).toEqual({
    status: 0,
    stdout: `{"id":${MAX},"petId":${MAX},"quantity":2,"shipDate":"2026-11-20T09:30:00+01:00","status":"pending"}\n`,
    stderr: "",
  });
  const again = await cli.run(["orders", "place", "--id", MAX, ...fields]);
  expect(again).toMatchObject({ status: 0, stderr: "The order already exists with the same content.\n" });
  const other = await cli.run(["orders", "place", "--id", MAX]);
  expect(other).toEqual({
    status: 1,
    stdout: "",
    stderr: `error: Order ${MAX} already exists with different content; it was not changed.\n`,
  });

  const early = await cli.run(["orders", "fulfil", MAX]);
  expect(early).toEqual({
    status: 1,
    stdout: "",
    stderr: `error: ${MAX}: The order is pending; only shipped orders accept 'fulfil'.\n`,
  });
  const shipped = await cli.run(["orders", "ship", MAX, "--json"]);
  expect(shipped.stdout).toMatch(
    new RegExp(`^{"id":${MAX},.*"shipDate":"\\d{4}-[^"]+Z","status":"shipped"}\n$`),
  );
  const fulfilled = await cli.run(["orders", "fulfil", MAX]);
  expect(fulfilled.stdout).toMatch(/^complete {4}true\nstatus {6}shipped$/m);
  const late = await cli.run(["orders", "cancel", MAX]);
  expect(late.stderr).toContain("The order is shipped; only pending orders accept 'cancel'.");
  expect(late.status).toBe(1);
});

test("orders with generated and negative IDs are cancelled; a missing order exits with 1", async () => {
  const { id } = await cli.json<{ id: number }>("orders", "place");
  expect(id).toBeGreaterThan(0);
  expect(await cli.json("orders", "cancel", `${id}`)).toEqual({ id, status: "cancelled" });
  expect((await cli.run(["orders", "cancel", `${id}`])).status).toBe(1);
  expect(await cli.json("orders", "place", "--id", "-5")).toEqual({ id: -5, status: "pending" });
  expect(await cli.json("orders", "cancel", "-5")).toEqual({ id: -5, status: "cancelled" });
  expect(await cli.run(["orders", "ship", "77"])).toEqual({
    status: 1,
    stdout: "",
    stderr: "error: 77: There is no order with this identifier.\n",
  });
});

test("a reader may close an export early, and a slow reader gets all of it", async () => {
  const path = join(cli.directory, "long.db");
  const store = createSqliteStore({ path });
  const orders = Array.from({ length: 40_000 }, (_, index) => ({
    record: { id: BigInt(index), petId: 1n, quantity: 1 },
    status: "pending" as const,
  }));
  await store.orders.place(orders);
  await store.close();

  const closed = cli.spawn(["orders", "export", "--database", path]);
  const [first] = (await once(closed.stdout, "data")) as [Buffer];
  expect(first.toString()).toMatch(/^{"id":0,/);
  closed.stdout.destroy();
  const { status, stderr } = await waitForExit(closed);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });

  const slow = cli.spawn(["orders", "export", "--database", path]);
  await once(slow.stdout, "readable");
  const whole = await waitForExit(slow);
  expect(whole.status).toBe(0);
  expect(whole.stdout.match(/\n/g)?.length).toBe(40_000);
});

test("openapi prints the document with the servers of --server", async () => {
  const document = JSON.parse((await cli.run(["openapi"])).stdout);
  expect(document.openapi).toMatch(/^3\.1/);
  expect(document.servers).toEqual([{ url: "./v1", description: "This server" }]);
  expect(JSON.stringify(document)).not.toMatch(/example\.(?:com|org|net)/);
  const urls = ["https://orders.example.com/v1", "http://localhost:8787/v1"];
  const { stdout } = await cli.run(["openapi", "--server", ...urls, "https://shop.bücher.example/v1/"]);
  const ascii = [...urls, "https://shop.xn--bcher-kva.example/v1"];
  expect(JSON.parse(stdout).servers).toEqual(ascii.map((url) => ({ url })));
});

const listed = useCommandLine();
const MAX_ID = 9_223_372_036_854_775_807n;

beforeAll(async () => {
  const store = createSqliteStore({ path: join(listed.directory, ".data/store-orders.db") });
  const orders = Array.from({ length: 1_200 }, (_, index) => ({
    record: { id: BigInt(10_000 + index), petId: 1_000_000n, quantity: 12_345 },
    status: (["pending", "shipped", "cancelled"] as const)[index % 3] ?? "pending",
  }));
  await store.orders.place(
    [{ record: { id: MAX_ID }, status: "cancelled" }, ...orders],
    Date.UTC(2026, 10, 20, 12),
    { by: "orders import" },
  );
  await store.close();
});

test("orders get prints an order with its int64 IDs exact and without separators", async () => {
  const got = await listed.run(["orders", "get", `${MAX_ID}`, "--json"]);
  expect({ ...got, stdout: got.stdout.replace(/:1:\w{10}"/, ':1:TOKEN"') }).toEqual({
    status: 0,
    stdout: `{"id":${MAX_ID},"status":"cancelled","history":[{"id":"${MAX_ID}:1:TOKEN","at":"2026-11-20T12:00:00.000Z","event":"place","by":"orders import"}]}\n`,
    stderr: "",
  });
  const { stdout } = await listed.run(["orders", "get", "10000"]);
  expect(stdout).toBe(
    "id         10000\npet id     1000000\nquantity   12,345\nstatus     pending\nhistory    2026-11-20T12:00:00.000Z place orders import\n",
  );
  expect(await listed.json("orders", "get", "10000")).toMatchObject({ quantity: 12_345 });
  expect(await listed.run(["orders", "get", "7"])).toEqual({
    status: 1,
    stdout: "",
    stderr: "error: 7: There is no order with this identifier.\n",
  });
});

test("orders list prints the first orders in ascending order, and reports that there are more", async () => {
  const first = await listed.run(["orders", "list", "--json"]);
  expect(first.status).toBe(0);
  const ids = JSON.parse(first.stdout).map(({ id }: { id: number }) => id);
  expect(ids).toEqual(Array.from({ length: 100 }, (_, index) => 10_000 + index));
  expect(first.stderr).toBe(
    "There are more orders than these 100. Use a larger --limit, or 'orders export' for all.\n",
  );
  const all = await listed.run(["orders", "list", "--limit", "1201", "--json"]);
  expect(all.stderr).toBe("");
  expect(all.stdout.match(/"id":/g)).toHaveLength(1_201);
});

test("orders list --status lists only the orders with that status, up to the limit", async () => {
  const shipped = await listed.json<{ id: number; status: string }[]>(
    ...["orders", "list", "--status", "shipped", "--limit", "2"],
  );
  expect(shipped.map(({ id, status }) => [id, status])).toEqual([
    [10_001, "shipped"],
    [10_004, "shipped"],
  ]);
  const { stdout } = await listed.run(["orders", "list", "--status", "cancelled", "--limit", "401"]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^id +pet id +quantity +ship date +complete +status$/);
  expect(lines).toHaveLength(402);
  expect(lines.at(-1)).toMatch(new RegExp(`^${MAX_ID} +- +- +- +- +cancelled$`));
});

test("an order with a status that no rule knows is listed and exported with a warning, and cannot be cancelled", async () => {
  const path = join(listed.directory, "edited.db");
  await createSqliteStore({ path }).close();
  const db = new DatabaseSync(path);
  db.exec(
    `INSERT INTO orders VALUES (1, 'pending', '{"id":1}', ''), (2, 'lost\n3\u001b[2J', '{"id":2}', '')`,
  );
  db.close();
  const run = (command: string) => listed.run([...command.split(" "), "--database", path]);
  const problem = `Order 2 has the status 'lost\\n3\\u001b[2J', which is not one of ${LIFECYCLE.statuses.join(", ")}.`;
  const [list, get, exported, cancel] = await Promise.all(
    ["orders list", "orders get 2", "orders export", "orders cancel 2"].map(run),
  );
  expect(list).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/pending\n2 .*lost\\n3\\u001b\[2J\n$/),
  });
  expect(get).toMatchObject({
    status: 0,
    stdout: "id        2\nstatus    lost\\n3\\u001b[2J\nhistory   -\n",
  });
  expect(exported).toMatchObject({
    status: 0,
    stdout: '{"id":1,"status":"pending"}\n{"id":2,"status":"lost\\n3\\u001b[2J"}\n',
    stderr: `Warning: ${problem} Correct it in the database, or update this version if a newer one has written it.\n`,
  });
  expect(cancel).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(problem) });
});

test("orders that cannot be read are named: the others are listed, exported and delivered, and the exit status tells", async () => {
  const location = ["--database", "damaged.db"];
  const path = join(cli.directory, "damaged.db");
  const { orders, outbox = expect.fail(), close } = createSqliteStore({ path });
  await outbox.switch(true);
  await orders.place([1n, 2n, 3n, 4n].map((id) => ({ record: { id }, status: "pending" })));
  await close();
  const db = new DatabaseSync(path);
  db.exec(
    `UPDATE orders SET record = '{"id":2,\n9\u001b[31m' WHERE id = 2; UPDATE orders SET history = 'x;' WHERE id = 3`,
  );
  db.close();
  const record = 'The record of order 2 is damaged: {"id":2,\\n9\\u001b[31m';
  const history = "The history of order 3 is damaged.";

  const list = await cli.run(["orders", "list", "--limit", "4", ...location]);
  expect(list).toMatchObject({ status: 0, stderr: expect.stringContaining(`Warning: ${record}`) });
  expect(list.stdout.match(/^\d+/gm)).toEqual(["1", "3", "4"]);

  const exported = await cli.run(["orders", "export", ...location]);
  expect(exported.status).toBe(1);
  expect(exported.stdout).toBe([1, 3, 4].map((id) => `{"id":${id},"status":"pending"}\n`).join(""));
  expect(exported.stderr).toContain(`Warning: An order is not exported. ${record}`);
  expect(exported.stderr).toContain("Not exported: 1. 'database check' says what to do.");

  const found = await cli.json("changes", "list", ...location);
  expect(found).toMatchObject([
    { change: expect.stringMatching(/^1:1:/), event: "place" },
    { change: "2:1", attempts: 0, problem: expect.stringContaining("order 2 is damaged") },
    { change: "3:1", attempts: 0, problem: expect.stringContaining(history) },
    { change: expect.stringMatching(/^4:1:/), event: "place" },
  ]);
  expect((await cli.run(["changes", "list", ...location])).stdout).toContain(history);

  for (const id of ["2", "3"]) {
    const { status, stderr } = await cli.run(["orders", "get", id, "--json", ...location]);
    expect([status, JSON.parse(stderr)]).toMatchObject([1, { code: "damaged_order" }]);
  }
  const { stdout } = await cli.run(["database", "check", ...location]);
  expect(stdout).toContain("order 2: The record cannot be read: This is not valid JSON.");
  expect(stdout).toContain(
    "order 3: The history cannot be read, so its changes are not delivered: It has an event 'x'",
  );
});
