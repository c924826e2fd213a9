/** The stores that the command line can use: their options, and the choice and the opening of one. */
import { existsSync, statSync } from "node:fs";
import { invalidInput, isStoreUnavailable, StoreUnavailableError } from "../core/errors.ts";
import type { Inspection } from "../stores/check.ts";
import { readConnectionString, validatePoolSize } from "../stores/postgres/connection-string.ts";
import { MAX_STORE_CALL_MS, type Store } from "../stores/store.ts";
import { explainAwsConfiguration, explainMissingPackage } from "./errors.ts";
import { type EnvironmentVariables, readVariable } from "./settings.ts";

/** An open store. */
export interface OpenedStore {
  readonly store: Store;
  /** The name to display, without secrets. */
  readonly name: string;
  /** True if the store was just created. */
  readonly isNew: boolean;
  /** The version of the database's layout that this program reads and writes. */
  readonly schema: number;
  /** True if the database bills each read. */
  readonly isMetered: boolean;
  /** Throws unless the store can serve now. The error names the missing parts. */
  check(): Promise<void>;
  /** Replaces an error by one that names what is missing and the fix, if that is known. */
  explain(error: unknown): unknown;
}

/** Options of opening a store. */
export interface OpenOptions {
  /** Creates a missing database. Otherwise it is an error, so that a typo in the path does not create an empty one. */
  readonly create: boolean;
  /** Logs something that the operator should know about the database. */
  warn(message: string): void;
}

/** What `openStore` adds from the choice. */
interface KindOptions extends OpenOptions {
  readonly poolSize: number | undefined;
}

/** A kind of store. */
export interface StoreKind {
  /** The name of the global option that selects this kind, and the name of its value in the help. */
  readonly option: string;
  readonly argument: string;
  readonly description: string;
  /** The environment variable that stands for the option. */
  readonly variable: string;
  /** The value if nothing selects a store. Only SQLite has one. */
  readonly fallback?: string;
  /** The optional package that the store needs. */
  readonly peer?: string;
  /** Opens the store that the option's value names. Loads the code of the store. */
  open(location: string, options: KindOptions): Promise<OpenedStore>;
  /** Opens the database that the option's value names to check it. Nothing in it is changed. */
  inspect(location: string): Promise<Inspection>;
  /** The files of the database, if it has any. */
  filesOf?(location: string): readonly string[];
  /** The location without its secrets, if it can have some. */
  toShown?(location: string): string;
}

/** Every kind of store. To add one, add its entry here. */
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
    peer: "pg",
    open: openPostgres,
    inspect: inspectPostgresUrl,
    toShown: withoutPassword,
  },
  dynamodb: {
    option: "dynamodb",
    argument: "prefix",
    description: "use the tables PREFIX-orders and PREFIX-accounts",
    variable: "STORE_ORDERS_DYNAMODB",
    peer: "@aws-sdk/client-dynamodb",
    open: openDynamodb,
    inspect: async (prefix) => (await import("../stores/dynamodb/inspect.ts")).inspectDynamodb(prefix),
  },
} as const satisfies Readonly<Record<string, StoreKind>>;

/** The name of a kind of store. */
export type StoreName = keyof typeof STORES;

/** The names of all kinds. */
export const STORE_NAMES = Object.keys(STORES) as readonly StoreName[];

/** The values of the options that select a store, and of the size of its pool. */
export type StoreFlags = Partial<
  Readonly<Record<(typeof STORES)[StoreName]["option"] | "postgresPool", string>>
>;

/** The store that a command uses. */
export interface StoreChoice {
  readonly kind: StoreName;
  /** The path, prefix or address: the value of the option. */
  readonly location: string;
  /** The most connections to PostgreSQL, if the program should not choose it. */
  readonly poolSize?: number;
}

/** The option of the size of the pool. */
export const POOL_OPTION = "postgres-pool";
const POOL_VARIABLE = "STORE_ORDERS_POSTGRES_POOL";
const POOL_FLAG = {
  flags: `--${POOL_OPTION} <n>`,
  description: `open at most this many connections to PostgreSQL (${POOL_VARIABLE}; default: 10)`,
};

/** The global options that select a store, as the program declares them. */
export const STORE_OPTIONS = STORE_NAMES.flatMap((name) => {
  const { option, argument, description, variable, fallback }: StoreKind = STORES[name];
  const hint = fallback === undefined ? variable : `${variable}; default: ${fallback}`;
  const selection = { flags: `--${option} <${argument}>`, description: `${description} (${hint})` };
  return name === "postgres" ? [selection, POOL_FLAG] : [selection];
});

/** Selects the store from the flags, otherwise from environment variables, otherwise the default database. */
export function chooseStore(flags: StoreFlags, env: EnvironmentVariables): StoreChoice {
  const choice = chooseOne(({ option }) => ({ source: `--${option}`, location: flags[option] })) ??
    chooseOne(({ variable }) => ({ source: variable, location: readVariable(env, variable) })) ?? {
      kind: "sqlite",
      location: STORES.sqlite.fallback,
    };
  const { postgresPool } = flags;
  if (choice.kind === "postgres") {
    const poolSize =
      postgresPool === undefined
        ? readPoolSize(readVariable(env, POOL_VARIABLE), POOL_VARIABLE)
        : readPoolSize(postgresPool, `--${POOL_OPTION}`);
    return poolSize === undefined ? choice : { ...choice, poolSize };
  }
  if (postgresPool !== undefined)
    throw invalidInput(
      `--${POOL_OPTION}`,
      "Only a PostgreSQL database has a pool. Add --postgres, or remove it.",
    );
  return choice;
}

function readPoolSize(text: string | undefined, source: string): number | undefined {
  if (text === undefined) return undefined;
  const size = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  validatePoolSize(size, source);
  return size;
}

function chooseOne(
  read: (kind: (typeof STORES)[StoreName]) => {
    readonly source: string;
    readonly location: string | undefined;
  },
): StoreChoice | undefined {
  const chosen = STORE_NAMES.flatMap((kind) => {
    const { source, location } = read(STORES[kind]);
    return location === undefined ? [] : [{ kind, source, location }];
  });
  const sources = chosen.map(({ source }) => source).join(" and ");
  if (chosen.length > 1) throw invalidInput(sources, "Set only one of them.");
  const [{ kind, location } = {}] = chosen;
  if (location === "") throw invalidInput(sources, "The value must not be empty.");
  if (kind === "sqlite" && /^[a-z][a-z\d+.-]*:\/\//i.test(location ?? "")) {
    const message = "This is a URL, not the path of a file. For PostgreSQL, use --postgres or ";
    throw invalidInput(sources, `${message}${STORES.postgres.variable}.`);
  }
  return kind === undefined || location === undefined ? undefined : { kind, location };
}

/** Opens a store, and loads only the code for its kind. */
export async function openStore(
  { kind, location, poolSize }: StoreChoice,
  options: OpenOptions,
): Promise<OpenedStore> {
  const { open, peer }: StoreKind = STORES[kind];
  return open(location, { ...options, poolSize }).catch((error: unknown) => {
    throw explainMissingPackage(error, peer);
  });
}

/** Opens a database to check it. */
export async function openInspection({ kind, location }: StoreChoice): Promise<Inspection> {
  const { inspect, peer }: StoreKind = STORES[kind];
  return inspect(location).catch((error: unknown) => {
    throw explainMissingPackage(error, peer);
  });
}

/** The location of a store without its secrets. */
export function locationOf({ kind, location }: StoreChoice): string {
  const { toShown }: StoreKind = STORES[kind];
  return toShown?.(location) ?? location;
}

async function openSqlite(path: string, { create, warn }: OpenOptions): Promise<OpenedStore> {
  if (!create) requireDatabase(path);
  const isNew = !existsSync(path);
  const [{ createSqliteStore }, { SCHEMA_VERSION }] = await Promise.all([
    import("../stores/sqlite/index.ts"),
    import("../stores/sqlite/schema.ts"),
  ]);
  const store = createSqliteStore({ path, existing: !create });
  if (isAccessibleToOthers(path)) {
    warn(
      `Other users can access ${path}, and it belongs to another user. Run 'chmod 600 ${path}' as its owner.`,
    );
  }
  const { check } = store;
  return {
    store,
    name: path,
    isNew,
    schema: SCHEMA_VERSION,
    isMetered: false,
    check,
    explain: (error) => error,
  };
}

/** Throws if there is no database file at a path. */
export function requireDatabase(path: string, argument = "--database"): void {
  if (existsSync(path)) return;
  const message =
    `There is no database at ${path}. Check the path, or create a database with ` +
    "'accounts create', 'orders place', 'orders import' or 'serve'.";
  throw invalidInput(argument, message);
}

/** True if the store could not make the database private. Windows has no file modes. */
function isAccessibleToOthers(path: string): boolean {
  return (
    process.platform !== "win32" && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0
  );
}

async function openPostgres(url: string, { create, poolSize }: KindOptions): Promise<OpenedStore> {
  const [{ createPostgresStore, migratePostgres }, { SCHEMA_VERSION }] = await Promise.all([
    import("../stores/postgres/index.ts"),
    import("../stores/postgres/schema.ts"),
    // The store loads it with the first call, whose error would not name the package.
    import("pg"),
  ]);
  const { name, ...address } = readPostgresUrl(url);
  const options = { ...address, poolSize };
  const isNew = create && (await migratePostgres({ ...options, onlyIfEmpty: true })).from === 0;
  const store = createPostgresStore({ ...options, existing: true });
  return {
    store,
    name,
    isNew,
    schema: SCHEMA_VERSION,
    isMetered: false,
    check: store.check,
    explain: (error) => error,
  };
}

async function inspectPostgresUrl(url: string): Promise<Inspection> {
  const { connectionString, schema } = readPostgresUrl(url);
  const [{ inspectPostgres }, { Pool }] = await Promise.all([
    import("../stores/postgres/inspect.ts"),
    import("pg"),
  ]);
  const pool = new Pool({
    connectionString,
    max: 1,
    pipeline: true,
    connectionTimeoutMillis: MAX_STORE_CALL_MS,
  });
  pool.on("error", () => {});
  return { ...inspectPostgres(pool, schema), close: () => pool.end() };
}

/** Reads the URL of a PostgreSQL database. `name` is the database for people, without secrets. */
export function readPostgresUrl(text: string) {
  const options = readConnectionString(text, "--postgres");
  const url = URL.parse(options.connectionString);
  const place = `PostgreSQL, ${url?.host || "this machine"}${url?.pathname ?? ""}`;
  const { schema } = options;
  return { ...options, name: schema === undefined ? place : `${place}, schema ${schema}` };
}

/** A URL as it may be printed. */
function withoutPassword(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) return text.includes("@") ? "URL" : text;
  url.password = "";
  for (const name of [...url.searchParams.keys()]) if (/password/i.test(name)) url.searchParams.delete(name);
  return url.href;
}

async function openDynamodb(prefix: string): Promise<OpenedStore> {
  const [{ createDynamodbStore }, { LAYOUT_VERSION }] = await Promise.all([
    import("../stores/dynamodb/index.ts"),
    import("../stores/dynamodb/schema.ts"),
  ]);
  const store = createDynamodbStore({ prefix });
  return {
    store,
    name: `DynamoDB, ${prefix}-orders and ${prefix}-accounts`,
    isNew: false,
    schema: LAYOUT_VERSION,
    isMetered: true,
    check: () => store.check().catch((error) => nameMissingTables(error, store, prefix)),
    explain: (error) => explainDynamodbError(error, prefix),
  };
}

/** Replaces an error of DynamoDB by one that names the missing setting or table, and the fix. */
export function explainDynamodbError(error: unknown, prefix: string): unknown {
  const cause = causeOf(error);
  const explained = explainAwsConfiguration(cause);
  if (explained !== cause) return explained;
  return isMissingTable(error)
    ? missingTables([`${prefix}-orders`, `${prefix}-accounts`], " or ", prefix)
    : error;
}

/** Rejects with the error, or with one that names each missing table. */
async function nameMissingTables(
  error: unknown,
  { orders, accounts }: Store,
  prefix: string,
): Promise<never> {
  if (!isMissingTable(error)) throw error;
  const reads = { orders: orders.find(0n), accounts: accounts.find("demo") };
  const results = await Promise.allSettled(Object.values(reads));
  const missing = Object.keys(reads).filter((_, index) => {
    const result = results[index];
    return result?.status === "rejected" && isMissingTable(result.reason);
  });
  if (missing.length > 0)
    throw missingTables(
      missing.map((table) => `${prefix}-${table}`),
      " and ",
      prefix,
    );
  throw error;
}

function missingTables(tables: readonly string[], separator: string, prefix: string): StoreUnavailableError {
  const noun = tables.length === 1 ? "The table" : "The tables";
  const verb = tables.length === 1 ? "does not exist" : "do not exist";
  return new StoreUnavailableError(
    `${noun} ${tables.join(separator)} ${verb}. Check the prefix and AWS_REGION, or create the tables with ` +
      `'${toCommandLine(["tables", "create"], { dynamodb: prefix })}'.`,
  );
}

function isMissingTable(error: unknown): boolean {
  return causeOf(error)?.name === "ResourceNotFoundException";
}

function causeOf(error: unknown): Error | undefined {
  return isStoreUnavailable(error) && error.cause instanceof Error ? error.cause : undefined;
}

/** The start of a command in a clone of the repository, or of the installed package. */
const PROGRAM = import.meta.url.endsWith(".ts") ? "npm run --silent cli --" : "store-orders";

/** Formats a command that can be run as it is printed, on the store that the flags of this command select. */
export function toCommandLine(args: readonly string[], flags: StoreFlags = {}): string {
  const store = STORE_NAMES.flatMap((name) => {
    const { option } = STORES[name];
    const location = flags[option];
    return location === undefined ? [] : [`--${option}`, locationOf({ kind: name, location })];
  });
  return [PROGRAM, ...[...args, ...store].map(quote)].join(" ");
}

function quote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
