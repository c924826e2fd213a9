import { Client, Pool } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { isStoreUnavailable } from "../../lib/core/errors.ts";
import {
  createPostgresStore,
  migratePostgres,
  type PooledConnection,
  type PostgresPool,
} from "../../lib/stores/postgres/index.ts";
import { startPostgresProxy } from "../support/postgres/proxy.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";

const AT = Date.UTC(2026, 10, 20, 12);
/** A call that nothing ends fails its case sooner than the suite would. */
const [MAX_CASE_MS, MAX_CLOSE_MS] = [15_000, 2_000];

const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;
const keyOf = (account: string) => ({ accountId: account, hash: account.padEnd(64, "0") });

describe.skipIf(skipsWithoutPostgres("sessions of PostgreSQL"))("with several sessions on a server", () => {
  let server: PostgresServer;
  let others: Pool;
  beforeAll(async () => {
    server = await startPostgres();
    others = new Pool({ connectionString: server.url() });
  });
  afterAll(async () => {
    await others.end();
    await server.remove();
  });

  async function openStore(schema: string, accounts: readonly string[] = []) {
    const store = createPostgresStore({ connectionString: server.url(), schema });
    onTestFinished(() => store.close(), MAX_CLOSE_MS);
    await store.orders.place([pending(1n), pending(2n)]);
    for (const id of accounts) {
      const key = { id: `${id}.1`, hash: keyOf(id).hash, createdAt: 0 };
      await store.accounts.create({ id, plan: "free", keys: [key] });
    }
    return store;
  }

  /** Locks rows in another session, until the returned function is called. */
  async function lock(rows: string) {
    const client = new Client({ connectionString: server.url() });
    await client.connect();
    const unlock = () => client.end();
    onTestFinished(unlock);
    await client.query(`BEGIN; SELECT FROM ${rows} FOR UPDATE`);
    return unlock;
  }

  /** Ends the statement of each session that waits for a lock, as an administrator does. */
  async function cancelWaiting(): Promise<void> {
    const text = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await expect.poll(async () => (await others.query(text)).rowCount).toBe(1);
  }

  test(
    "requests of an account that is locked wait on one connection, and delay no others",
    async () => {
      const store = await openStore("locked_account", ["locked", "other"]);
      const admit = (account: string) => store.accounts.admit(keyOf(account), AT);
      const unlock = await lock("locked_account.accounts WHERE id = 'locked'");
      const admitted = [admit("locked"), admit("locked")];
      expect((await admit("other")).ok).toBe(true);
      for (let more = 0; more < 2; more++) {
        admitted.push(admit("locked"));
        expect((await admit("other")).ok).toBe(true);
        expect(store.connections().busy).toBe(1);
      }
      await unlock();
      admitted.push(admit("locked"));
      for (const admission of await Promise.all(admitted)) expect(admission.ok).toBe(true);
      expect((await admit("locked")).ok).toBe(true);
      expect((await store.accounts.find("locked"))?.usage.minute.count).toBe(6);
    },
    MAX_CASE_MS,
  );

  test(
    "a request whose wait the administrator ends rejects, and those after it are served",
    async () => {
      const store = await openStore("cancelled_wait", ["locked", "other"]);
      const admit = (account: string) => store.accounts.admit(keyOf(account), AT);
      const unlock = await lock("cancelled_wait.accounts WHERE id = 'locked'");
      const rejected = expect(admit("locked")).rejects.toSatisfy(isStoreUnavailable);
      // Afterwards, the locked account waits on its own.
      await admit("other");
      const next = admit("locked");
      await cancelWaiting();
      await rejected;
      await unlock();
      expect((await next).ok).toBe(true);
      expect((await admit("locked")).ok).toBe(true);
      expect((await store.accounts.find("locked"))?.usage.minute.count).toBe(2);
    },
    MAX_CASE_MS,
  );

  test(
    "an order that is locked delays no other event, and is cancelled when it is not",
    async () => {
      const store = await openStore("locked_order", ["one"]);
      const cancel = (id: bigint) =>
        store.accounts.admit(keyOf("one"), AT, undefined, { type: "apply", id, event: "cancel" });
      const unlock = await lock("locked_order.orders WHERE id = 1");
      const [locked, free] = await Promise.all([cancel(1n), cancel(2n)]);
      expect(free).toMatchObject({ ok: true, outcome: { result: { ok: true } } });
      // The caller applies it on its own, and waits.
      expect(locked.ok && locked.outcome).toBeUndefined();
      const applied = store.orders.apply(1n, "cancel", AT);
      await unlock();
      expect(await applied).toMatchObject({ ok: true });
      expect((await store.accounts.find("one"))?.usage.minute.count).toBe(2);
    },
    MAX_CASE_MS,
  );

  test(
    "a delivered change of an order that is locked is acknowledged after the others",
    async () => {
      const { orders, outbox = expect.fail() } = await openStore("locked_change");
      await outbox.switch(true);
      for (const id of [1n, 2n]) await orders.apply(id, "cancel", AT);
      const unlock = await lock("locked_change.outbox WHERE id = 1");
      const acknowledged = outbox.acknowledge([1n, 2n].map((id) => ({ id, delivered: 2, lease: -1 })));
      await expect.poll(async () => (await outbox.backlog()).waiting).toBe(1);
      await unlock();
      await acknowledged;
      expect(await outbox.backlog()).toEqual({ waiting: 0, failed: 0 });
    },
    MAX_CASE_MS,
  );

  test(
    "a cancel whose response is lost counts once and takes place once, also if its order is locked by the time it is repeated",
    async () => {
      const pool = new Pool({ connectionString: server.url() });
      onTestFinished(() => pool.end(), MAX_CLOSE_MS);
      await openStore("locked_again", ["shop"]);
      let losesResponse = false;
      const lossy: PostgresPool = {
        async connect() {
          const connection = (await pool.connect()) as unknown as PooledConnection;
          const query: typeof connection.query = async (statement) => {
            const response = await connection.query(statement);
            if (!losesResponse || statement.text !== "COMMIT") return response;
            losesResponse = false;
            await lock("locked_again.orders WHERE id = 2");
            throw new Error("Connection terminated unexpectedly");
          };
          return { query, release: (close) => connection.release(close) };
        },
      };
      const { accounts, orders } = createPostgresStore({ pool: lossy, schema: "locked_again" });
      const cancel = (id: bigint) =>
        accounts.admit(keyOf("shop"), AT, undefined, { type: "apply", id, event: "cancel" });
      expect(await cancel(1n)).toMatchObject({ ok: true, quota: { remaining: 59 } });
      losesResponse = true;
      const outcome = { type: "apply", result: { ok: true, order: { status: "cancelled" } } };
      expect(await cancel(2n)).toMatchObject({ ok: true, quota: { remaining: 58 }, outcome });
      expect(losesResponse).toBe(false);
      expect((await accounts.find("shop"))?.usage.minute.count).toBe(2);
      expect((await orders.find(2n))?.history.map(({ event }) => event)).toEqual(["place", "cancel"]);
      // An order that another transaction has locked, and that this request has not cancelled, is left to the caller.
      expect(await cancel(2n)).not.toHaveProperty("outcome");
    },
    MAX_CASE_MS,
  );

  test("a store opens at most ten sessions, replaces those that the server ends, and leaves none, like a migration", async () => {
    const connectionString = server.url();
    const ofStore = "pg_stat_activity WHERE application_name = 'store-orders'";
    // Sooner than a pool ends a session that is idle.
    const expectNone = () =>
      expect
        .poll(async () => (await others.query(`SELECT FROM ${ofStore}`)).rowCount, { timeout: 5_000 })
        .toBe(0);
    await migratePostgres({ connectionString, schema: "counted" });
    await expectNone();
    const store = createPostgresStore({ connectionString, schema: "counted" });
    expect(store.connections()).toEqual({ busy: 0, idle: 0, waiting: 0 });
    await store.orders.place([pending(1n)]);
    const unlock = await lock("counted.orders WHERE id = 1");
    const calls = Array.from({ length: 12 }, () => store.orders.apply(1n, "ship", AT));
    await expect.poll(() => store.connections()).toEqual({ busy: 10, idle: 0, waiting: 2 });
    await unlock();
    expect((await Promise.all(calls)).filter(({ ok }) => ok)).toHaveLength(1);
    expect(store.connections()).toEqual({ busy: 0, idle: 10, waiting: 0 });
    await others.query(`SELECT pg_terminate_backend(pid) FROM ${ofStore}`);
    await expect.poll(() => store.connections()).toEqual({ busy: 0, idle: 0, waiting: 0 });
    expect((await store.orders.find(1n))?.status).toBe("shipped");
    await store.close();
    await expectNone();
  });

  test.each(["full", "forget"] as const)(
    "behind a PgBouncer whose connections are used up, or that forgets statements, each call is done (%s)",
    async (fault) => {
      const proxy = await startPostgresProxy(server.port);
      onTestFinished(() => proxy.close());
      const store = createPostgresStore({ connectionString: proxy.url(server.url()), schema: fault });
      onTestFinished(() => store.close(), MAX_CLOSE_MS);
      const ids = Array.from({ length: 60 }, (_, index) => BigInt(index));
      await store.orders.place(ids.map(pending));
      // With "full", of ten connections that the pool would open, two are there.
      if (fault === "forget") await Promise.all(ids.slice(0, 9).map((id) => store.orders.find(id)));
      proxy.inject(fault);
      const calls = await Promise.all(ids.map((id) => store.orders.apply(id, "cancel", AT)));
      expect(calls.filter(({ ok }) => ok)).toHaveLength(60);
    },
    MAX_CASE_MS,
  );

  test(
    "a change is not acknowledged whose transaction a crash of another process of the server has lost, although another has its identifier",
    async () => {
      const crashing = await startPostgres();
      onTestFinished(() => crashing.remove());
      const pool = new Pool({ connectionString: crashing.url(), pipeline: true });
      pool.on("error", () => {});
      pool.on("connect", (client) => client.on("error", () => {}));
      onTestFinished(() => pool.end());
      let isCrashing = false;
      const observed: PostgresPool = {
        async connect() {
          const client = await pool.connect();
          return {
            pipeline: false,
            release: (close) => client.release(close),
            async query(query) {
              if (!isCrashing || query.text !== "COMMIT") return client.query(query);
              isCrashing = false;
              const victim = new Client({ connectionString: crashing.url() });
              victim.on("error", () => {});
              await victim.connect();
              const { rows } = await victim.query("SELECT pg_backend_pid() AS pid");
              process.kill(rows[0].pid, "SIGKILL");
              // Others take the identifiers that were given before, and commit.
              for (let count = 0; count < 20; )
                await crashing
                  .sql("CREATE TABLE IF NOT EXISTS used (); INSERT INTO used DEFAULT VALUES")
                  .then(
                    () => count++,
                    () => {},
                  );
              throw new Error("Connection terminated unexpectedly");
            },
          };
        },
      };
      const store = createPostgresStore({ pool: observed });
      await store.orders.place([pending(1n)]);
      isCrashing = true;
      const error = await store.orders.apply(1n, "cancel", AT).catch((reason: unknown) => reason);
      expect(isStoreUnavailable(error) && error.message).toContain("The change may have been made.");
      expect((await store.orders.find(1n))?.status).toBe("pending");
    },
    MAX_CASE_MS,
  );
});
