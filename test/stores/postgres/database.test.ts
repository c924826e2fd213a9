import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { isStoreUnavailable } from "../../../lib/core/errors.ts";
import {
  createPostgresStore,
  type PostgresPool,
  type PostgresQuery,
} from "../../../lib/stores/postgres/index.ts";
import { type Pglite, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
});
afterAll(() => server.database.close());

const ORDER = { record: { id: 1n }, status: "pending" } as const;
const lost = () => new Error("Connection terminated unexpectedly");

/** The queries that were sent. */
const sent: PostgresQuery[] = [];
beforeEach(() => void sent.splice(0));

type Respond = (query: PostgresQuery, run: (query: PostgresQuery) => Promise<unknown>) => Promise<unknown>;

/** A pool whose queries are answered by a function, which can run them. */
function answeredBy(respond: Respond): PostgresPool {
  return {
    async connect() {
      const connection = await server.pool.connect();
      return {
        ...connection,
        query: (query) => {
          sent.push(query);
          return respond(query, connection.query) as ReturnType<typeof connection.query>;
        },
      };
    },
  };
}

/** A store with one order, whose next queries are answered by a function. */
async function openStore(schema: string, respond: Respond) {
  let isFaulty = false;
  const pool = answeredBy((query, run) => (isFaulty ? respond(query, run) : run(query)));
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
  const beforeCommit = once(isCommit, async () => {
    await server.database.exec("ROLLBACK");
    throw lost();
  });
  const whileReading = once(
    ({ values }) => values !== undefined,
    async () => {
      await server.database.exec("ROLLBACK");
      throw lost();
    },
  );
  for (const [schema, respond] of [
    ["early", whileReading],
    ["late", beforeCommit],
  ] as const) {
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
  const error = await store.orders.apply(1n, "cancel", 0).catch((reason: unknown) => reason);
  expect(isStoreUnavailable(error) && error.message).toContain("The change may have been made.");
  expect((await store.orders.find(1n))?.status).toBe("cancelled");
});

test("a pooler that changes sessions ends the use of prepared statements, not the call", async () => {
  const respond = once(
    ({ name }) => name !== undefined,
    () =>
      Promise.reject(
        Object.assign(new Error("prepared statement does not exist"), { code: "26000", severity: "ERROR" }),
      ),
  );
  const store = await openStore("pooled", respond);
  sent.splice(0);
  expect(await store.orders.find(1n)).toMatchObject(ORDER);
  const named = sent.map(({ name }) => name !== undefined);
  expect(named.indexOf(true)).toBe(named.lastIndexOf(true));
  expect((await store.orders.apply(1n, "cancel", 0)).ok).toBe(true);
  expect(sent.slice(4).some(({ name }) => name !== undefined)).toBe(false);
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

test("a call for which the pool has no connection in time rejects, and a connection that comes later is returned", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
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

test("closing waits for the calls that were made before", async () => {
  const store = await openStore("closing", (query, run) => run(query));
  const key = { id: "acme.1", hash: "1".repeat(64), createdAt: 0 };
  const created = store.accounts.create({ id: "acme", plan: "free", keys: [key] });
  const admitted = store.accounts.admit({ accountId: "acme", hash: key.hash }, 0);
  let settled = 0;
  for (const call of [created, admitted]) void call.then(() => settled++);
  await store.close();
  await store.close();
  expect(settled).toBe(2);
});
