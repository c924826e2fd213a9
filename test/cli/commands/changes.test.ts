import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { useCommandLine } from "../../support/command-line.ts";

const cli = useCommandLine();

test("changes of orders wait from 'database outbox on', are listed, and are delivered again if they were set aside", async () => {
  const run = (command: string) => cli.json(...command.split(" "), "--database", "outbox.db");
  await run("orders place --id 1");
  expect(await run("database outbox")).toEqual({ outbox: "off", waiting: 0, failed: 0 });
  expect(await run("database outbox on")).toEqual({ outbox: "on", waiting: 0, failed: 0 });
  await run("orders cancel 1");
  await run("orders place --id 2");
  const [cancelled, placed] = [
    { change: expect.stringMatching(/^1:2:\w{10}$/), event: "cancel", by: "orders cancel", attempts: 0 },
    { change: expect.stringMatching(/^2:1:\w{10}$/), event: "place", by: "orders place", attempts: 0 },
  ];
  expect(await run("changes list")).toMatchObject([cancelled, placed]);
  expect(await run("changes list --limit 1")).toMatchObject([cancelled]);
  expect(await run("changes list --failed")).toEqual([]);

  const { outbox = expect.fail(), close } = createSqliteStore({ path: join(cli.directory, "outbox.db") });
  await outbox.lease(1, 0, -5);
  await outbox.postpone(1n, -5, undefined);
  await close();
  expect(await run("changes list --failed")).toMatchObject([{ ...cancelled, attempts: 1 }]);
  expect(await run("database outbox")).toMatchObject({ waiting: 1, failed: 1 });
  expect(await run("changes retry 2")).toEqual({ retried: 0 });
  expect((await cli.run(["changes", "retry", "2", "--database", "outbox.db"])).stderr).toBe(
    "No change of order 2 was set aside, or waits for another attempt.\n",
  );
  expect(await run("changes retry")).toEqual({ retried: 1 });
  expect(await run("changes list")).toMatchObject([cancelled, placed]);
  expect(await run("database outbox off")).toEqual({
    outbox: "off",
    waiting: 2,
    failed: 0,
    oldest: expect.stringMatching(/Z$/),
  });
  const [{ change }] = (await run("changes list")) as unknown as [{ readonly change: string }];
  expect(await run("orders get 1")).toMatchObject({
    history: [
      { id: expect.stringMatching(/^1:1:\w{10}$/), event: "place" },
      { id: change, event: "cancel" },
    ],
  });
  const { stdout } = await cli.run(["orders", "get", "1", "--database", "outbox.db"]);
  expect(stdout).toMatch(/history +\S+ place orders place; \S+ cancel orders cancel\n/);

  const db = new DatabaseSync(join(cli.directory, "outbox.db"));
  db.exec("UPDATE orders SET history = '' WHERE id = 1");
  db.close();
  expect(await run("changes list")).toMatchObject([
    { change: "1:2", problem: "Order 1 has no change 2." },
    placed,
  ]);
});
