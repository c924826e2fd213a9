import { once } from "node:events";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createCommandLine, waitForExit } from "../../support/command-line.ts";

const cli = createCommandLine({ shareProcess: true });
afterAll(() => cli[Symbol.dispose]());
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

test("an export contains all orders, ascending, in the form that import reads", async () => {
  const lines = `{"id":-5,"status":"shipped"}\n{"id":1,"petId":${MAX},"complete":true,"status":"cancelled"}\n`;
  const store = ["--database", "exported.db"];
  await cli.run(["orders", "import", "-", ...store], { input: lines });
  const exported = await cli.run(["orders", "export", ...store]);
  expect(exported).toEqual({ status: 0, stdout: lines, stderr: "" });
  await cli.run(["orders", "import", "-", "--database", "empty.db"], { input: "" });
  const empty = await cli.run(["orders", "export", "--database", "empty.db"]);
  expect(empty).toEqual({ status: 0, stdout: "", stderr: "" });
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
  expect(document.servers).toEqual([{ url: "./v1", description: expect.any(String) }]);
  const urls = ["https://orders.example.com/v1", "http://localhost:8787/v1"];
  const { stdout } = await cli.run(["openapi", ...urls.flatMap((url) => ["--server", url])]);
  expect(JSON.parse(stdout).servers).toEqual(urls.map((url) => ({ url })));
});
