import { existsSync, mkdirSync, openAsBlob, renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { PGlite, protocol } from "@electric-sql/pglite";
import type { PostgresPool, PostgresQuery } from "../../../lib/stores/postgres/index.ts";
import manifest from "../../../package.json" with { type: "json" };

/** A PostgreSQL in this process, for one suite at a time. Its only connection is a pool of one. */
export interface Pglite {
  readonly pool: PostgresPool;
  readonly database: PGlite;
  /** Refuses connections until the returned function is called. */
  interrupt(): () => void;
  /** Loses the connection with the response to the next COMMIT, or statement that is a transaction of its own. */
  loseResponse(): void;
}

export type Respond = (
  query: PostgresQuery,
  run: (query: PostgresQuery) => Promise<unknown>,
) => Promise<unknown>;

export function answeredBy(pool: PostgresPool, respond: Respond): PostgresPool {
  return {
    async connect() {
      const { query: run, release } = await pool.connect();
      return { release, query: (query) => respond(query, run) as ReturnType<typeof run> };
    },
  };
}

/** The files of an empty database: creating them takes three seconds of processor time, reading them half of one. */
const EMPTY = new URL(
  `../../../node_modules/.cache/store-orders/pglite-${manifest.devDependencies["@electric-sql/pglite"]}.tar`,
  import.meta.url,
);

// Compiling it anew for speed takes more processor time than the tests gain by it.
for (const flag of ["--no-wasm-dynamic-tiering", "--no-wasm-tier-up"]) setFlagsFromString(flag);

async function createEmpty(): Promise<PGlite> {
  if (existsSync(EMPTY)) return PGlite.create({ loadDataDir: await openAsBlob(EMPTY) });
  const database = await PGlite.create();
  mkdirSync(new URL(".", EMPTY), { recursive: true });
  // Renamed, so that another process never reads a part of it.
  const partial = new URL(`${EMPTY.href}.${process.pid}`);
  writeFileSync(partial, await (await database.dumpDataDir("none")).bytes());
  renameSync(partial, EMPTY);
  return database;
}

/** Removes what the suite before has left. */
const EMPTY_AGAIN = `DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)' LOOP
      EXECUTE format('DROP SCHEMA %I CASCADE', name);
    END LOOP;
    FOR name IN SELECT rolname FROM pg_roles WHERE rolname !~ '^(pg_|postgres)' LOOP
      EXECUTE format('DROP OWNED BY %1$I; DROP ROLE %1$I', name);
    END LOOP;
    CREATE SCHEMA public;
  END $$`;

/** The suites of a process share it: starting it takes longer than emptying it. */
let started: Promise<PGlite> | undefined;

/** Starts it if this process has none, with an empty database. */
export async function startPglite(): Promise<Pglite> {
  const isFirst = started === undefined;
  started ??= createEmpty();
  const database = await started;
  if (!isFirst) for (const statement of ["DISCARD ALL", EMPTY_AGAIN]) await database.exec(statement);
  prepared.clear();
  let [isInterrupted, losesResponse] = [false, false];
  let last: Promise<void> = Promise.resolve();

  let isInTransaction = false;

  async function query(sent: PostgresQuery) {
    const response = await run(database, sent);
    const isCommitted = sent.text === "COMMIT" || !(isInTransaction || sent.text.startsWith("BEGIN"));
    isInTransaction =
      sent.text.startsWith("BEGIN") || (isInTransaction && !/^(COMMIT|ROLLBACK)$/.test(sent.text));
    if (!losesResponse || !isCommitted) return response;
    losesResponse = false;
    throw new Error("Connection terminated unexpectedly");
  }

  const pool: PostgresPool = {
    async connect() {
      if (isInterrupted) throw new Error("connect ECONNREFUSED 127.0.0.1:5432");
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const before = last;
      last = released;
      await before;
      return {
        query,
        release(close = false) {
          // The server ends the transaction of a connection that is closed.
          void (close ? run(database, ROLLBACK) : Promise.resolve()).finally(release);
        },
      };
    },
  };
  return {
    pool,
    database,
    interrupt() {
      isInterrupted = true;
      return () => {
        isInterrupted = false;
      };
    },
    loseResponse() {
      losesResponse = true;
    },
  };
}

const { serialize } = protocol;
const ROLLBACK = { text: "ROLLBACK" } as PostgresQuery;

/** The statements that the connection has prepared: parsing and planning one takes longer than running it. */
const prepared = new Set<string>();

/** Runs a query as a server does. One without values can have several statements. */
async function run(database: PGlite, { text, values, name = "" }: PostgresQuery) {
  if (values === undefined) {
    const results = await database.exec(text, { rowMode: "array" });
    return (results.at(-1) ?? { rows: [] }) as { readonly rows: readonly (readonly unknown[])[] };
  }
  const sent = [
    ...(prepared.has(name) ? [] : [serialize.parse({ name, text })]),
    serialize.bind({ statement: name, values: values.map(toText) }),
    serialize.execute({}),
    serialize.sync(),
  ];
  const received = await database.runExclusive(() =>
    database.execProtocolStream(Buffer.concat(sent), { syncToFs: false }),
  );
  if (name !== "") prepared.add(name);
  return { rows: received.flatMap((message) => ("fields" in message ? [message.fields as unknown[]] : [])) };
}

function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (!Array.isArray(value)) return String(value);
  return `{${value.map((item) => (item === null ? "NULL" : `"${String(item).replaceAll(/["\\]/g, "\\$&")}"`))}}`;
}
