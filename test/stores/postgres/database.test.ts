import { EventEmitter } from "node:events";
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { errorMessage, isStoreUnavailable } from "../../../lib/core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../../lib/core/time.ts";
import type { StoreOperation } from "../../../lib/orders/store-operation.ts";
import {
  createPostgresStore,
  type PostgresPool,
  type PostgresQuery,
} from "../../../lib/stores/postgres/index.ts";
import { answeredBy, type Pglite, type Respond, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
});

const ORDER = { record: { id: 1n }, status: "pending" } as const;
const TYPES = { getTypeParser: () => (value: string) => value };
const KEY = { id: "acme.1", hash: "1".repeat(64), createdAt: 0 };
const ACCOUNT = { id: "acme", plan: "free", keys: [KEY] } as const;
const lost = () => new Error("Connection terminated unexpectedly");
const refusal = Object.assign(new Error("too many connections"), { code: "53300", severity: "FATAL" });

/** What the error of a call says, if it says that the store is not available. */
async function problemOf(call: Promise<unknown>) {
  const error = await call.catch((reason: unknown) => reason);
  return isStoreUnavailable(error) && errorMessage(error);
}

const sent: PostgresQuery[] = [];
beforeEach(() => void sent.splice(0));
afterEach(() => void vi.useRealTimers());

/** A store with one order, whose next queries are answered by a function. */
async function openStore(schema: string, respond: Respond) {
  let isFaulty = false;
  const pool = answeredBy(server.pool, (query, run) => {
    sent.push(query);
    return isFaulty ? respond(query, run) : run(query);
  });
  const store = createPostgresStore({ pool, schema });
  await store.orders.place([ORDER]);
  isFaulty = true;
  return store;
}

/** Does something else with the first query that matches. */
function once(matches: (query: PostgresQuery) => boolean, respond: Respond): Respond {
  let isDone = false;
  return (query, run) => {
    if (isDone || !matches(query)) return run(query);
    isDone = true;
    return respond(query, run);
  };
}

const isCommit = ({ text }: PostgresQuery) => text === "COMMIT";

test("a connection that is lost before the transaction is committed costs nothing: it is repeated", async () => {
  const isStatement = ({ values }: PostgresQuery) => values !== undefined;
  for (const [schema, matches] of [
    ["early", isStatement],
    ["late", isCommit],
  ] as const) {
    const respond = once(matches, async () => {
      await server.database.exec("ROLLBACK");
      throw lost();
    });
    const store = await openStore(schema, respond);
    expect((await store.orders.apply(1n, "cancel", 0)).ok, schema).toBe(true);
    expect((await store.orders.find(1n))?.status).toBe("cancelled");
  }
});

test("if the server was replaced after the response to COMMIT was lost, the call rejects and is not repeated", async () => {
  const respond = once(isCommit, async (query, run) => {
    await run(query);
    throw lost();
  });
  const store = await openStore("replaced", (query, run) =>
    query.text.includes("pg_xact_status")
      ? Promise.resolve({ rows: [["committed", "1"]] })
      : respond(query, run),
  );
  expect(await problemOf(store.orders.apply(1n, "cancel", 0))).toContain("The change may have been made.");
  expect((await store.orders.find(1n))?.status).toBe("cancelled");
});

test("a call whose connections are all lost rejects after four attempts, or once its time is over", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  for (const [schema, stepMs, attempts] of [
    ["always_lost", 0, 4],
    ["lost_in_time", 2_000, 3],
  ] as const) {
    let sentStatements = 0;
    const store = await openStore(schema, async ({ values }, run) => {
      if (values === undefined) return run({ text: "ROLLBACK", rowMode: "array", types: TYPES });
      sentStatements++;
      vi.advanceTimersByTime(stepMs);
      throw lost();
    });
    await expect(store.orders.find(1n)).rejects.toSatisfy(isStoreUnavailable);
    expect(sentStatements).toBe(attempts);
  }
});

test("a connection that is lent has a listener for its loss, and keeps it only if it is closed", async () => {
  const connections: EventEmitter[] = [];
  const listeners = () => connections.map((connection) => connection.listenerCount("error"));
  let isLost = false;
  const pool: PostgresPool = {
    async connect() {
      const { query, release } = await server.pool.connect();
      const emitter = new EventEmitter();
      connections.push(emitter);
      return Object.assign(emitter, {
        release,
        async query(statement: PostgresQuery) {
          expect(emitter.listenerCount("error")).toBe(1);
          if (isLost) throw lost();
          return query(statement);
        },
      });
    },
  };
  const { orders } = createPostgresStore({ pool, schema: "listeners" });
  await orders.place([ORDER]);
  expect(new Set(listeners())).toEqual(new Set([0]));
  connections.length = 0;
  isLost = true;
  await expect(orders.find(1n)).rejects.toSatisfy(isStoreUnavailable);
  expect(listeners()).toEqual([1, 1, 1, 1]);
});

test("each call sets its isolation, its limits and its plans, whatever the defaults of the database are", async () => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  const names = [
    ...["transaction_isolation", "transaction_deferrable", "transaction_read_only", "lock_timeout"],
    ...["statement_timeout", "plan_cache_mode", "enable_seqscan", "idle_in_transaction_session_timeout"],
  ];
  const text = `SELECT ${names.map((name) => `current_setting('${name}')`)}`;
  const settings: (readonly unknown[])[] = [];
  const pool = answeredBy(server.pool, async (query, run) => {
    if (query.values !== undefined) {
      const { rows } = (await run({ text, rowMode: "array", types: TYPES })) as { rows: unknown[][] };
      settings.push(rows[0] ?? []);
    }
    return run(query);
  });
  const { orders, accounts } = createPostgresStore({ pool, schema: "settings" });
  await accounts.create({ id: "acme", plan: "free", keys: [] });
  await orders.place([ORDER]);
  const settingsOf = async (call: () => Promise<unknown>) => {
    settings.length = 0;
    await call();
    return settings;
  };
  await server.database.exec(
    "SET default_transaction_isolation = 'serializable'; SET default_transaction_deferrable = on",
  );
  onTestFinished(async () => void (await server.database.exec("RESET ALL")));
  const limitMs = 0.9 * CALL_TIMEOUT_MS;
  const planned = ["0", "force_generic_plan", "off"];
  const change = ["read committed", "off", "off", `${limitMs}ms`, ...planned];
  expect(await settingsOf(() => orders.find(1n))).toEqual([
    ["read committed", "off", "on", "0", `${limitMs}ms`, "auto", "on", "0"],
  ]);
  expect(await settingsOf(() => orders.apply(1n, "cancel", 0))).toEqual([
    [...change, "0"],
    // The server ends a transaction whose program has stopped.
    [...change, "5s"],
  ]);
  const group = change.with(3, "300ms");
  expect(await settingsOf(() => accounts.admit({ accountId: "acme", hash: "x" }, 0))).toEqual([
    [...group, "0"],
  ]);
});

test("if nobody can tell before the deadline whether a COMMIT was done, the call rejects with the last problem", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  let isLost = false;
  let refused = 0;
  const pool: PostgresPool = {
    async connect() {
      if (isLost) {
        refused++;
        vi.advanceTimersByTime(2_000);
        throw new Error("connect ECONNREFUSED 127.0.0.1:5432");
      }
      const connection = await server.pool.connect();
      return {
        ...connection,
        async query(query) {
          const response = await connection.query(query);
          if (!isCommit(query) || !isFaulty) return response;
          isLost = true;
          throw lost();
        },
      };
    },
  };
  let isFaulty = false;
  const store = createPostgresStore({ pool, schema: "unknown" });
  await store.orders.place([ORDER]);
  isFaulty = true;
  expect(await problemOf(store.orders.apply(1n, "cancel", 0))).toBe(
    "A COMMIT was not confirmed. The change may have been made. " +
      "(The database cannot be used. connect ECONNREFUSED 127.0.0.1:5432)",
  );
  expect(refused).toBe(3);
});

test("if the response about orders that were there is lost with that to COMMIT, placing again tells their outcome", async () => {
  const respond = once(
    ({ text }) => text.startsWith("SELECT id, status, record"),
    async () => {
      await server.database.exec("COMMIT");
      throw lost();
    },
  );
  const store = await openStore("outcomes", respond);
  const orders = [ORDER, { record: { id: 2n }, status: "pending" } as const];
  const message = "The orders were placed, but the response was lost.";
  expect(await problemOf(store.orders.place(orders))).toBe(message);
  expect(await store.orders.place(orders)).toEqual(["unchanged", "unchanged"]);
});

test("a deadlock in the statement of several cancels costs nothing: it is repeated", async () => {
  // The clock stands still, also in PGlite: a statement that takes long does nothing.
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  const isCancel = ({ text }: PostgresQuery) => text.includes("cancelled AS");
  const respond = once(isCancel, ({ values: _, ...query }, run) => {
    const raise = "RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'";
    return run({ ...query, text: `DO $$ BEGIN ${raise}; END $$` });
  });
  const { orders, accounts } = await openStore("deadlock", respond);
  await orders.place([{ record: { id: 2n }, status: "pending" }]);
  await accounts.create(ACCOUNT);
  const admit = (operation?: StoreOperation) =>
    accounts.admit({ accountId: "acme", hash: KEY.hash }, 0, undefined, operation);
  await admit();
  sent.splice(0);
  for (const admission of await Promise.all(
    [1n, 2n].map((id) => admit({ type: "apply", id, event: "cancel" })),
  ))
    expect(admission).toMatchObject({ ok: true, outcome: { result: { ok: true } } });
  expect(sent.map((query) => isCancel(query) || query.text.split(" ")[0])).toEqual([
    ...["BEGIN", true, "ROLLBACK"],
    ...["BEGIN", true, "COMMIT"],
  ]);
  expect((await accounts.find("acme"))?.usage.minute.count).toBe(3);
});

test.each([
  [true, [1, 2, 2]],
  [false, [3, 4, 3]],
])(
  "a read, a change and a delivery take as many round trips as they should, with pipeline: %s",
  async (pipeline, expected) => {
    let [inFlight, trips] = [0, 0];
    const { connect } = answeredBy(server.pool, (query, run) => {
      if (inFlight++ === 0) trips++;
      return run(query).finally(() => inFlight--);
    });
    const pool: PostgresPool = { connect: async () => ({ ...(await connect()), pipeline }) };
    const { orders, outbox } = createPostgresStore({ pool, schema: `trips_${pipeline}` });
    await outbox?.switch(true);
    await orders.place([ORDER]);
    const tripsOf = async (call: () => Promise<unknown>) => {
      trips = 0;
      await call();
      return trips;
    };
    const calls = [
      () => orders.find(1n),
      () => orders.apply(1n, "cancel", 0),
      async () => outbox?.acknowledge([{ id: 1n, delivered: 2, lease: -1 }]),
    ];
    const found: number[] = [];
    for (const call of calls) found.push(await tripsOf(call));
    expect(found).toEqual(expected);
  },
);

test("the connections of a pool of the program are those that it counts, if it does", () => {
  const connect = () => expect.fail("nothing is sent");
  const connectionsOf = (counts: Partial<PostgresPool>) =>
    createPostgresStore({ pool: { connect, ...counts } }).connections();
  expect(connectionsOf({ totalCount: 5, idleCount: 3, waitingCount: 1 })).toEqual({
    ...{ busy: 2, idle: 3, waiting: 1 },
  });
  expect(connectionsOf({})).toEqual({ busy: 0, idle: 0, waiting: 0 });
});

test("a pooler that changes sessions ends the use of prepared statements, not the call", async () => {
  const message = "prepared statement does not exist";
  const unknown = Object.assign(new Error(message), { code: "26000", severity: "ERROR" });
  const isNamed = ({ name }: PostgresQuery) => name !== undefined;
  const store = await openStore(
    "pooled",
    once(isNamed, () => Promise.reject(unknown)),
  );
  sent.splice(0);
  expect(await store.orders.find(1n)).toMatchObject(ORDER);
  const named = sent.map(isNamed);
  expect(named.indexOf(true)).toBe(named.lastIndexOf(true));
  expect((await store.orders.apply(1n, "cancel", 0)).ok).toBe(true);
  expect(sent.slice(4).some(isNamed)).toBe(false);
});

test("a statement has the same name in every store, and another one for another schema", async () => {
  const namesIn = async (schema: string) => {
    const store = await openStore(schema, (query, run) => run(query));
    sent.splice(0);
    await store.orders.find(1n);
    return sent.flatMap(({ name }) => name ?? []);
  };
  const [first] = await namesIn("named");
  expect(first).toMatch(/^store_orders_[\da-f]{32}$/);
  expect(await namesIn("named")).toEqual([first]);
  expect(await namesIn("renamed")).not.toEqual([first]);
});

test("a page of a query is not prepared: its text is seldom repeated", async () => {
  const store = await openStore("unnamed", (query, run) => run(query));
  sent.splice(0);
  expect((await store.orders.page({ limit: 1, after: 0n })).orders).toEqual([ORDER]);
  expect(sent.filter(({ values }) => values !== undefined)).toHaveLength(1);
  expect(sent.map(({ name }) => name)).toEqual(sent.map(() => undefined));
});

test("a call for which the pool has no connection in time rejects, and a connection that comes later is returned", async () => {
  vi.useFakeTimers();
  let lend = () => {};
  let returned = 0;
  const pool: PostgresPool = {
    connect: () =>
      new Promise((resolve) => {
        const query = () => expect.fail("nothing is sent");
        const release = (close = false) => {
          returned += close ? 100 : 1;
        };
        lend = () => resolve({ query, release });
      }),
  };
  const found = createPostgresStore({ pool }).orders.find(1n);
  const rejected = expect(found).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/no connection.*pool is too small/),
  });
  await vi.advanceTimersByTimeAsync(5_000);
  await rejected;
  lend();
  await vi.advanceTimersByTimeAsync(0);
  expect(returned).toBe(1);
});

test("a COMMIT that the server answers with ROLLBACK is an error, and closes the connection", async () => {
  const closed: boolean[] = [];
  let isRolledBack = false;
  const pool: PostgresPool = {
    async connect() {
      const connection = await server.pool.connect();
      return {
        async query(query) {
          const fails = isRolledBack && query.text === "COMMIT";
          const response = await connection.query(fails ? { ...query, text: "ROLLBACK" } : query);
          return { ...response, command: fails ? "ROLLBACK" : (query.text.split(/\W/)[0] ?? "") };
        },
        release(close = false) {
          closed.push(close);
          connection.release(close);
        },
      };
    },
  };
  const store = createPostgresStore({ pool, schema: "rolled_back" });
  await store.orders.place([ORDER]);
  closed.length = 0;
  isRolledBack = true;
  await expect(store.orders.apply(1n, "cancel", 0)).rejects.toSatisfy(isStoreUnavailable);
  expect(closed).toEqual([true]);
  isRolledBack = false;
  expect((await store.orders.find(1n))?.status).toBe("pending");
});

test("a call whose time is over does not wait for one before it that has more", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  let asked = 0;
  const pool: PostgresPool = {
    async connect() {
      asked++;
      // The first one is never answered, and the others are refused.
      if (asked === 2) return new Promise(() => {});
      throw refusal;
    },
  };
  const store = createPostgresStore({ pool });
  const settled: number[] = [];
  const calls = [1, 2, 3].map((call) => store.orders.find(BigInt(call)).catch(() => void settled.push(call)));
  await vi.advanceTimersByTimeAsync(5_000);
  await Promise.all(calls);
  expect(settled.toSorted()).toEqual([1, 2, 3]);
  // How many depends on the order of timers, but nobody asks again and again.
  expect(asked).toBeLessThanOrEqual(10);
});

test("calls whose connection is refused wait in their order until one is lent", async () => {
  const store = await openStore("refused", (query, run) => run(query));
  let [asked, atOnce, most] = [0, 0, 0];
  const pool: PostgresPool = {
    async connect() {
      most = Math.max(most, ++atOnce);
      await Promise.resolve();
      atOnce--;
      if (++asked <= 8) throw refusal;
      return server.pool.connect();
    },
  };
  const waiting = createPostgresStore({ pool, schema: "refused" });
  const settled: bigint[] = [];
  const find = async (id: bigint) => {
    await waiting.orders.find(id);
    settled.push(id);
  };
  await Promise.all([1n, 2n, 3n, 4n].map(find));
  expect(settled).toEqual([1n, 2n, 3n, 4n]);
  // All ask at first, then one after another.
  expect([asked, most]).toEqual([12, 4]);
  await find(5n);
  await store.close();
});

test("closing waits for the calls that were made before", async () => {
  const store = await openStore("closing", (query, run) => run(query));
  const created = store.accounts.create(ACCOUNT);
  const admitted = store.accounts.admit({ accountId: "acme", hash: KEY.hash }, 0);
  let settled = 0;
  for (const call of [created, admitted]) void call.then(() => settled++);
  await store.close();
  await store.close();
  expect(settled).toBe(2);
});

test("after closing every call rejects, and opens no pool", async () => {
  const own = createPostgresStore({ connectionString: "postgres://127.0.0.1:9/shop" });
  const shared = createPostgresStore({ pool: server.pool, schema: "closed" });
  for (const store of [own, shared]) {
    await store.close();
    for (const call of [
      () => store.orders.find(1n),
      () => store.orders.apply(1n, "cancel", 0),
      () => store.accounts.admit({ accountId: "acme", hash: "x" }, 0),
      () => store.check(),
    ])
      await expect(call()).rejects.toThrow("The store was closed.");
    expect(store.connections()).toEqual({ busy: 0, idle: 0, waiting: 0 });
  }
});

test("a pool that receives binary values is an error that says so, and nothing is written", async () => {
  const pool: PostgresPool = {
    connect: async () => ({ ...(await server.pool.connect()), binary: true }),
  };
  const store = createPostgresStore({ pool, schema: "binary" });
  await expect(store.orders.place([ORDER])).rejects.toThrow("pool: Create it without binary: true.");
  await expect(store.check()).rejects.toThrow("pool: Create it without binary: true.");
});
