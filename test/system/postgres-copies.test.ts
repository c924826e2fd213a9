import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { codeBlocks, document } from "../documents/markdown.ts";
import {
  findPostgres,
  type PostgresServer,
  skipsWithoutPostgres,
  startPostgres,
} from "../support/postgres/server.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;

describe.skipIf(skipsWithoutPostgres("copies on another server"))("a database on another server", () => {
  let [first, second] = [] as unknown as [PostgresServer, PostgresServer];
  beforeAll(async () => {
    const settings = { wal_level: "logical" };
    [first, second] = await Promise.all([startPostgres({ settings }), startPostgres({ settings })]);
  });
  afterAll(() => Promise.all([first.remove(), second.remove()]));

  function openStore(server: PostgresServer, database: string, role = "postgres") {
    const connectionString = server.url(database).replace("postgres@", `${role}@`);
    const store = createPostgresStore({ connectionString });
    onTestFinished(() => store.close());
    return { ...store, outbox: store.outbox ?? expect.fail(), connectionString };
  }

  test("a dump of a service with a role of its own is restored by another role, for another service", async () => {
    const grants =
      codeBlocks(document("lib/stores/postgres/README.md"), "console")
        .map((block) => /<<SQL\n(.*?)\nSQL/s.exec(block)?.[1])
        .find((found) => found !== undefined) ?? expect.fail();
    const folder = mkdtempSync(join(tmpdir(), "store-orders-dump-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const dump = join(folder, "store-orders.dump");
    const run = (program: string, ...args: string[]) =>
      execFileSync(join(`${findPostgres()}`, program), args, { stdio: "pipe" });
    const { orders } = openStore(first, "postgres");
    await orders.place([pending(1n)]);
    await first.sql(`CREATE ROLE shop LOGIN; ${grants}`);
    run("pg_dump", "--format=custom", "--schema=store_orders", `--file=${dump}`, first.url());
    await second.sql("CREATE ROLE keeper LOGIN; CREATE ROLE other LOGIN");
    await second.sql("CREATE DATABASE restored OWNER keeper");
    const { connectionString } = openStore(second, "restored", "keeper");
    const restore = (...flags: string[]) =>
      run("pg_restore", ...flags, "--exit-on-error", "--single-transaction", "-d", connectionString, dump);
    expect(() => restore("--no-owner")).toThrow('role "shop" does not exist');
    restore("--no-owner", "--no-acl");
    await second.psql(["-c", grants.replaceAll("shop", "other")], { database: "restored", role: "keeper" });
    const served = openStore(second, "restored", "other");
    await served.check();
    expect(await served.orders.apply(1n, "cancel", AT)).toMatchObject({ ok: true });
  });

  test("a subscriber has its own changes in its outbox, if that is switched on after the initial copy", async () => {
    for (const server of [first, second]) await server.sql("CREATE DATABASE replicated");
    const [published, subscribed] = [openStore(first, "replicated"), openStore(second, "replicated")];
    await published.outbox.switch(true);
    await published.orders.place([1n, 2n, 3n].map(pending));
    await subscribed.check();
    await first.sql("CREATE PUBLICATION orders FOR TABLE store_orders.orders", "replicated");
    const connection = `host=127.0.0.1 port=${first.port} user=postgres dbname=replicated`;
    const subscribe = `CREATE SUBSCRIPTION orders CONNECTION '${connection}' PUBLICATION orders`;
    await second.sql(subscribe, "replicated");
    const copied = () =>
      second.sql("SELECT string_agg(srsubstate, '') FROM pg_subscription_rel", "replicated");
    await expect.poll(copied, { timeout: 60_000 }).toBe("r");
    await subscribed.outbox.switch(true);
    await published.orders.apply(1n, "cancel", AT);
    await published.orders.place([pending(4n)]);
    const orders = () =>
      second.sql("SELECT string_agg(id || status, ',' ORDER BY id) FROM store_orders.orders", "replicated");
    await expect.poll(orders, { timeout: 60_000 }).toBe("1cancelled,2pending,3pending,4pending");
    await subscribed.orders.apply(2n, "cancel", AT);
    expect(await subscribed.outbox.list("waiting", 9)).toMatchObject([{ id: 2n, delivered: 1 }]);
  });
});
