import { accessSync, constants, existsSync, type Stats, statSync } from "node:fs";
import { invalidInput, isStoreUnavailable, StoreUnavailableError } from "../core/errors.ts";
import { explainFileError } from "../files/read.ts";
import type { Inspection } from "../stores/check.ts";
import { LAYOUT_VERSION, tableNames } from "../stores/dynamodb/schema.ts";
import { readConnectionString, validatePoolSize } from "../stores/postgres/connection-string.ts";
import type { Store } from "../stores/store.ts";
import { explainAwsConfiguration } from "./errors.ts";
import { type EnvironmentVariables, readVariable } from "./settings.ts";

export interface OpenedStore {
  readonly store: Store;
  /** The name to display, without secrets. */
  readonly name: string;
  readonly isNew: boolean;
  /** The version of the database's layout that this program reads and writes. */
  readonly schema: number;
  /** True if the database bills each read. @default false */
  readonly isMetered?: boolean;
  /** Replaces an error by one that names what is missing and the fix, if that is known. */
  explain?(error: unknown): unknown;
}

export interface OpenOptions {
  /** Creates a missing database. Otherwise it is an error, so that a typo in the path does not create an empty one. */
  readonly create: boolean;
  warn(message: string): void;
  readonly poolSize?: number | undefined;
}

export interface StoreKind {
  readonly option: string;
  readonly argument: string;
  readonly description: string;
  readonly variable: string;
  readonly fallback?: string;
  open(location: string, options: OpenOptions): Promise<OpenedStore>;
  /** Nothing in the database is changed. */
  inspect(location: string): Promise<Inspection>;
  filesOf?(location: string): readonly string[];
}

export const STORES = {
  sqlite: {
    option: "database",
    argument: "path",
    description: "use this SQLite database",
    variable: "STORE_ORDERS_DATABASE",
    fallback: ".data/store-orders.db",
    open: openSqlite,
    async inspect(path) {
      requireDatabase(path);
      return (await import("../stores/sqlite/inspect.ts")).inspectSqlite(path);
    },
    filesOf: (path) => ["", "-wal", "-shm"].map((suffix) => `${path}${suffix}`),
  },
  postgres: {
    option: "postgres",
    argument: "url",
    description: "use the tables in this PostgreSQL database",
    variable: "STORE_ORDERS_POSTGRES",
    open: openPostgres,
    inspect: inspectPostgresUrl,
  },
  dynamodb: {
    option: "dynamodb",
    argument: "prefix",
    description: "use the tables PREFIX-orders and PREFIX-accounts, or those of two names: ORDERS,ACCOUNTS",
    variable: "STORE_ORDERS_DYNAMODB",
    open: openDynamodb,
    inspect: async (location) =>
      (await import("../stores/dynamodb/inspect.ts")).inspectDynamodb({ prefix: location }),
  },
} as const satisfies Readonly<Record<string, StoreKind>>;

export type StoreName = keyof typeof STORES;

export const STORE_NAMES = Object.keys(STORES) as readonly StoreName[];

export type StoreFlags = Partial<
  Readonly<Record<(typeof STORES)[StoreName]["option"] | "postgresPool", string>>
>;

export interface StoreChoice {
  readonly kind: StoreName;
  readonly location: string;
  readonly poolSize?: number;
}

export const POOL_OPTION = "postgres-pool";
const POOL_VARIABLE = "STORE_ORDERS_POSTGRES_POOL";
const POOL_HELP = `open at most this many connections to PostgreSQL (${POOL_VARIABLE}; default: 10)`;

export const STORE_OPTIONS = STORE_NAMES.flatMap((name) => {
  const { option, argument, description, variable, fallback }: StoreKind = STORES[name];
  const hint = fallback === undefined ? variable : `${variable}; default: ${fallback}`;
  const selection = [`--${option} <${argument}>`, `${description} (${hint})`] as const;
  return name === "postgres" ? [selection, [`--${POOL_OPTION} <n>`, POOL_HELP] as const] : [selection];
});

export function chooseStore(flags: StoreFlags, env: EnvironmentVariables): StoreChoice {
  const selected =
    chooseOne(({ option }) => [`--${option}`, flags[option]]) ??
    chooseOne(({ variable }) => [variable, readVariable(env, variable)]);
  const choice: StoreChoice = selected ?? { kind: "sqlite", location: STORES.sqlite.fallback };
  const { postgresPool } = flags;
  if (choice.kind !== "postgres") {
    if (postgresPool === undefined) return choice;
    const message = "Only a PostgreSQL database has a pool. Add --postgres, or remove it.";
    throw invalidInput(`--${POOL_OPTION}`, message);
  }
  const size = postgresPool ?? readVariable(env, POOL_VARIABLE);
  if (size === undefined) return choice;
  const poolSize = /^\d+$/.test(size) ? Number(size) : Number.NaN;
  validatePoolSize(poolSize, postgresPool === undefined ? POOL_VARIABLE : `--${POOL_OPTION}`);
  return { ...choice, poolSize };
}

function chooseOne(
  read: (kind: (typeof STORES)[StoreName]) => readonly [source: string, value: string | undefined],
): StoreChoice | undefined {
  const given = STORE_NAMES.flatMap((kind) => {
    const [source, location] = read(STORES[kind]);
    return location === undefined ? [] : [{ kind, source, location }];
  });
  const sources = given.map(({ source }) => source).join(" and ");
  if (given.length > 1) throw invalidInput(sources, "Set only one of them.");
  const [chosen] = given;
  if (chosen === undefined) return undefined;
  const { kind, location } = chosen;
  if (location === "") throw invalidInput(sources, "The value must not be empty.");
  if (kind === "sqlite" && /^[a-z][a-z\d+.-]*:\/\//i.test(location)) {
    const message = "This is a URL, not the path of a file. For PostgreSQL, use --postgres or ";
    throw invalidInput(sources, `${message}${STORES.postgres.variable}.`);
  }
  return { kind, location };
}

export function shownLocation({ kind, location }: StoreChoice): string {
  if (kind !== "postgres") return location;
  const url = URL.parse(location);
  const isUrl = url !== null && /^postgres(ql)?:$/.test(url.protocol);
  if (!isUrl) return location.includes("@") ? "URL" : location;
  url.password = "";
  for (const name of [...url.searchParams.keys()]) if (/password/i.test(name)) url.searchParams.delete(name);
  return url.href;
}

async function openSqlite(path: string, { create, warn }: OpenOptions): Promise<OpenedStore> {
  requireDatabase(path, { create });
  const isNew = !existsSync(path);
  const { createSqliteStore } = await import("../stores/sqlite/index.ts");
  const { SCHEMA_VERSION } = await import("../stores/sqlite/schema.ts");
  const { isNotWritable } = await import("../stores/sqlite/errors.ts");
  let store: Store;
  try {
    store = createSqliteStore({ path, existing: !create });
  } catch (error) {
    if (create || !isNotWritable(Object(error).cause) || !statSync(path).isFile()) throw error;
    store = createSqliteStore({ path, readOnly: true });
  }
  const { mode = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  // It belongs to another user, or is on a volume that cannot be written. Windows has no file modes.
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    warn(`Other users can access ${path}, whose mode was not changed. Run 'chmod 600 ${path}' as its owner.`);
  return { store, name: path, isNew, schema: SCHEMA_VERSION };
}

/** Throws unless a path leads to a file that can be read or, with `create`, to nothing. To open a FIFO would wait for a writer. */
export function requireDatabase(path: string, { argument = "--database", create = false } = {}): void {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
    if (found?.isFile()) accessSync(path, constants.R_OK);
  } catch (error) {
    const problem = `${path} cannot be opened. ${explainFileError(error, "read")}`;
    if (found === undefined) throw invalidInput(argument, problem);
    // Another user, such as root, may have created it.
    const fix = "Run this as its owner, or change its owner.";
    throw new StoreUnavailableError(`${problem} ${fix}`, { cause: error });
  }
  if (found?.isFile() || (found === undefined && create)) return;
  if (found !== undefined) throw invalidInput(argument, `${path} is not a file.`);
  const forStore = "Check the path, or create a database with 'accounts create', 'orders import' or 'serve'.";
  const fix = argument === "--database" ? forStore : "Check the path of the backup.";
  throw invalidInput(argument, `There is no database at ${path}. ${fix}`);
}

async function openPostgres(url: string, { create, poolSize }: OpenOptions): Promise<OpenedStore> {
  const { createPostgresStore, migratePostgres } = await import("../stores/postgres/index.ts");
  const { SCHEMA_VERSION } = await import("../stores/postgres/schema.ts");
  // The store loads it with the first call, whose error would not name the package.
  await import("pg");
  const { name, ...address } = readPostgresUrl(url);
  const options = { ...address, poolSize };
  const isNew = create && (await migratePostgres({ ...options, onlyIfEmpty: true })).from === 0;
  const store = createPostgresStore({ ...options, existing: true });
  return { store, name, isNew, schema: SCHEMA_VERSION };
}

async function inspectPostgresUrl(url: string): Promise<Inspection> {
  const { connectionString, schema } = readPostgresUrl(url);
  const { inspectPostgres } = await import("../stores/postgres/inspect.ts");
  const { openPool } = await import("../stores/postgres/pool.ts");
  await import("pg");
  const { pool, close } = openPool({ connectionString, poolSize: 1 });
  return { ...inspectPostgres(pool, schema), close };
}

/** Reads the URL of a PostgreSQL database. `name` is the database for people, without secrets. */
export function readPostgresUrl(text: string) {
  const options = readConnectionString(text, "--postgres");
  const url = URL.parse(options.connectionString);
  const place = `PostgreSQL, ${url?.host || "this machine"}${url?.pathname ?? ""}`;
  const { schema } = options;
  return { ...options, name: schema === undefined ? place : `${place}, schema ${schema}` };
}

async function openDynamodb(location: string): Promise<OpenedStore> {
  const { createDynamodbStore } = await import("../stores/dynamodb/index.ts");
  const tables = tableNames({ prefix: location });
  return {
    store: createDynamodbStore({ tables }),
    name: `DynamoDB, ${tables.orders} and ${tables.accounts}`,
    isNew: false,
    schema: LAYOUT_VERSION,
    isMetered: true,
    explain: (error) => explainDynamodbError(error, location),
  };
}

export function explainDynamodbError(error: unknown, location: string): unknown {
  const cause = isStoreUnavailable(error) && error.cause instanceof Error ? error.cause : undefined;
  const explained = explainAwsConfiguration(cause);
  if (explained !== cause) return explained;
  if (cause?.name !== "ResourceNotFoundException") return error;
  const { orders, accounts } = tableNames({ prefix: location });
  const create = toCommandLine(["tables", "create"], { dynamodb: location });
  const advice = `Check --dynamodb and AWS_REGION, or create the tables with '${create}'.`;
  return new StoreUnavailableError(`The table ${orders} or ${accounts} does not exist. ${advice}`);
}

const PROGRAM = import.meta.url.endsWith(".ts") ? "npm run --silent cli --" : "store-orders";

/** Formats a command that can be run as it is printed, on the store that the flags of this command select. */
export function toCommandLine(args: readonly string[], flags: StoreFlags = {}): string {
  const store = STORE_NAMES.flatMap((name) => {
    const { option } = STORES[name];
    const location = flags[option];
    return location === undefined ? [] : [`--${option}`, shownLocation({ kind: name, location })];
  });
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const words = [...args, ...store].map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word)));
  return [PROGRAM, ...words].join(" ");
}
