/** The stores that the command line can use: their options, and the choice and the opening of one. */
import { existsSync, statSync } from "node:fs";
import { invalidInput, isStoreUnavailable, StoreUnavailableError } from "../core/errors.ts";
import type { Inspection } from "../stores/check.ts";
import { type DynamodbTableNames, tableNames } from "../stores/dynamodb/schema.ts";
import { readConnectionString, validatePoolSize } from "../stores/postgres/connection-string.ts";
import { MAX_STORE_CALL_MS, type Store } from "../stores/store.ts";
import { explainAwsConfiguration, explainMissingPackage } from "./errors.ts";
import { type EnvironmentVariables, readVariable } from "./settings.ts";

export interface OpenedStore {
  readonly store: Store;
  /** The name to display, without secrets. */
  readonly name: string;
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

export interface OpenOptions {
  /** Creates a missing database. Otherwise it is an error, so that a typo in the path does not create an empty one. */
  readonly create: boolean;
  /** Logs something that the operator should know about the database. */
  warn(message: string): void;
}

interface KindOptions extends OpenOptions {
  readonly poolSize: number | undefined;
  readonly tables: DynamodbTableNames | undefined;
}

export interface StoreKind {
  /** The name of the global option that selects this kind, and the name of its value in the help. */
  readonly option: string;
  readonly argument: string;
  readonly description: string;
  readonly variable: string;
  /** The value if nothing selects a store. Only SQLite has one. */
  readonly fallback?: string;
  readonly peer?: string;
  /** Opens the store that the option's value names. Loads the code of the store. */
  open(location: string, options: KindOptions): Promise<OpenedStore>;
  /** Opens the database that the option's value names to check it. Nothing in it is changed. */
  inspect(location: string, tables?: DynamodbTableNames): Promise<Inspection>;
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
    inspect: async (prefix, tables) =>
      (await import("../stores/dynamodb/inspect.ts")).inspectDynamodb(tables ? { tables } : { prefix }),
  },
} as const satisfies Readonly<Record<string, StoreKind>>;

export type StoreName = keyof typeof STORES;

export const STORE_NAMES = Object.keys(STORES) as readonly StoreName[];

/** The options that name one DynamoDB table each, instead of the name that the prefix gives it. */
export const TABLES = {
  orders: { option: "dynamodb-orders", variable: "STORE_ORDERS_DYNAMODB_ORDERS" },
  accounts: { option: "dynamodb-accounts", variable: "STORE_ORDERS_DYNAMODB_ACCOUNTS" },
} as const;

/** The values of the options that select a store, of the size of its pool, and of the names of its tables. */
export type StoreFlags = Partial<
  Readonly<
    Record<
      (typeof STORES)[StoreName]["option"] | "postgresPool" | "dynamodbOrders" | "dynamodbAccounts",
      string
    >
  >
>;

export interface StoreChoice {
  readonly kind: StoreName;
  /** The path, prefix or address: the value of the option. */
  readonly location: string;
  /** The most connections to PostgreSQL, if the program should not choose it. */
  readonly poolSize?: number;
  /** The names of the DynamoDB tables, if they are not those of the prefix. */
  readonly tables?: DynamodbTableNames;
}

export const POOL_OPTION = "postgres-pool";
const POOL_VARIABLE = "STORE_ORDERS_POSTGRES_POOL";
const POOL_FLAG = {
  flags: `--${POOL_OPTION} <n>`,
  description: `open at most this many connections to PostgreSQL (${POOL_VARIABLE}; default: 10)`,
};

export const STORE_OPTIONS = [
  ...STORE_NAMES.flatMap((name) => {
    const { option, argument, description, variable, fallback }: StoreKind = STORES[name];
    const hint = fallback === undefined ? variable : `${variable}; default: ${fallback}`;
    const selection = { flags: `--${option} <${argument}>`, description: `${description} (${hint})` };
    return name === "postgres" ? [selection, POOL_FLAG] : [selection];
  }),
  ...Object.entries(TABLES).map(([table, { option, variable }]) => ({
    flags: `--${option} <name>`,
    description: `use this table instead of PREFIX-${table} (${variable})`,
  })),
];

/** Selects the store from the flags, otherwise from environment variables, otherwise the default database. */
export function chooseStore(flags: StoreFlags, env: EnvironmentVariables): StoreChoice {
  const choice = chooseOne(({ option }) => ({ source: `--${option}`, value: flags[flagOf(option)] })) ??
    chooseOne(({ variable }) => ({ source: variable, value: readVariable(env, variable) })) ?? {
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

/** The name under which the command line passes an option. */
function flagOf(option: string): keyof StoreFlags {
  return option.replace(/-[a-z]/g, ([, letter = ""]) => letter.toUpperCase()) as keyof StoreFlags;
}

interface Setting {
  readonly source: string;
  readonly value: string | undefined;
}

function chooseOne(
  read: (names: { readonly option: string; readonly variable: string }) => Setting,
): StoreChoice | undefined {
  const tables = { orders: read(TABLES.orders), accounts: read(TABLES.accounts) };
  const chosen = STORE_NAMES.flatMap((kind) => {
    const settings = [read(STORES[kind]), ...(kind === "dynamodb" ? Object.values(tables) : [])];
    const given = settings.filter(({ value }) => value !== undefined);
    return given.length === 0 ? [] : [{ kind, given, location: settings[0]?.value }];
  });
  const given = chosen.flatMap((each) => each.given);
  const sources = given.map(({ source }) => source).join(" and ");
  if (chosen.length > 1) throw invalidInput(sources, "Set only one of them.");
  const empty = given.find(({ value }) => value === "");
  if (empty !== undefined) throw invalidInput(empty.source, "The value must not be empty.");
  const [{ kind, location } = {}] = chosen;
  if (kind === undefined) return undefined;
  if (kind === "dynamodb") return chooseTables(location, tables);
  if (location === undefined) return undefined;
  if (kind === "sqlite" && /^[a-z][a-z\d+.-]*:\/\//i.test(location)) {
    const message = "This is a URL, not the path of a file. For PostgreSQL, use --postgres or ";
    throw invalidInput(sources, `${message}${STORES.postgres.variable}.`);
  }
  return { kind, location };
}

/** Names are read from where the prefix is: those of the environment never apply to the prefix of a flag. */
function chooseTables(
  prefix: string | undefined,
  settings: Readonly<Record<keyof DynamodbTableNames, Setting>>,
): StoreChoice {
  const { orders, accounts } = settings;
  if (orders.value === undefined && accounts.value === undefined)
    return { kind: "dynamodb", location: prefix ?? "" };
  const missing = prefix === undefined && [orders, accounts].find(({ value }) => value === undefined);
  if (missing) throw invalidInput(missing.source, "Name this table, too, or set the prefix of both.");
  const tables = tableNames({
    prefix: prefix ?? "",
    tables: { orders: orders.value, accounts: accounts.value },
  });
  return { kind: "dynamodb", location: `${tables.orders} and ${tables.accounts}`, tables };
}

/** Opens a store, and loads only the code for its kind. */
export async function openStore(
  { kind, location, poolSize, tables }: StoreChoice,
  options: OpenOptions,
): Promise<OpenedStore> {
  const { open, peer }: StoreKind = STORES[kind];
  return open(location, { ...options, poolSize, tables }).catch((error: unknown) => {
    throw explainMissingPackage(error, peer);
  });
}

export async function openInspection({ kind, location, tables }: StoreChoice): Promise<Inspection> {
  const { inspect, peer }: StoreKind = STORES[kind];
  return inspect(location, tables).catch((error: unknown) => {
    throw explainMissingPackage(error, peer);
  });
}

export function locationOf({ kind, location }: StoreChoice): string {
  const { toShown }: StoreKind = STORES[kind];
  return toShown?.(location) ?? location;
}

async function openSqlite(path: string, { create, warn }: OpenOptions): Promise<OpenedStore> {
  if (!create) requireDatabase(path);
  const isNew = !existsSync(path);
  const [{ createSqliteStore }, { SCHEMA_VERSION }, { isNotWritable }] = await Promise.all([
    import("../stores/sqlite/index.ts"),
    import("../stores/sqlite/schema.ts"),
    import("../stores/sqlite/errors.ts"),
  ]);
  let store: OpenedStore["store"];
  try {
    store = createSqliteStore({ path, existing: !create });
  } catch (error) {
    if (create || !isNotWritable(Object(error).cause) || !statSync(path).isFile()) throw error;
    store = createSqliteStore({ path, readOnly: true });
  }
  const { mode = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  // The store could not make the database private. Windows has no file modes.
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
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

export function requireDatabase(path: string, argument = "--database"): void {
  if (existsSync(path)) return;
  const message =
    `There is no database at ${path}. Check the path, or create a database with ` +
    "'accounts create', 'orders place', 'orders import' or 'serve'.";
  throw invalidInput(argument, message);
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

async function openDynamodb(prefix: string, { tables }: KindOptions): Promise<OpenedStore> {
  const [{ createDynamodbStore }, { LAYOUT_VERSION }] = await Promise.all([
    import("../stores/dynamodb/index.ts"),
    import("../stores/dynamodb/schema.ts"),
  ]);
  const choice = { location: prefix, tables };
  const names = namesOf(choice);
  const store = createDynamodbStore({ tables: names });
  return {
    store,
    name: `DynamoDB, ${names.orders} and ${names.accounts}`,
    isNew: false,
    schema: LAYOUT_VERSION,
    isMetered: true,
    check: () => store.check().catch((error) => nameMissingTables(error, store, choice)),
    explain: (error) => explainDynamodbError(error, choice),
  };
}

type TableChoice = { readonly location: string; readonly tables?: DynamodbTableNames | undefined };

export function namesOf({ location, tables }: TableChoice): DynamodbTableNames {
  return tables ?? tableNames({ prefix: location });
}

/** Replaces an error of DynamoDB by one that names the missing setting or table, and the fix. */
export function explainDynamodbError(error: unknown, choice: TableChoice): unknown {
  const cause = causeOf(error);
  const explained = explainAwsConfiguration(cause);
  if (explained !== cause) return explained;
  return isMissingTable(error) ? missingTables(Object.values(namesOf(choice)), " or ", choice) : error;
}

/** Rejects with the error, or with one that names each missing table. */
async function nameMissingTables(
  error: unknown,
  { orders, accounts }: Store,
  choice: TableChoice,
): Promise<never> {
  if (!isMissingTable(error)) throw error;
  const names = namesOf(choice);
  const reads = [
    [names.orders, orders.find(0n)],
    [names.accounts, accounts.find("demo")],
  ] as const;
  const results = await Promise.allSettled(reads.map(([, read]) => read));
  const missing = reads.flatMap(([name], index) => {
    const result = results[index];
    return result?.status === "rejected" && isMissingTable(result.reason) ? [name] : [];
  });
  if (missing.length > 0) throw missingTables(missing, " and ", choice);
  throw error;
}

function missingTables(
  missing: readonly string[],
  separator: string,
  { location, tables }: TableChoice,
): StoreUnavailableError {
  const noun = missing.length === 1 ? "The table" : "The tables";
  const verb = missing.length === 1 ? "does not exist" : "do not exist";
  const flags: StoreFlags =
    tables === undefined
      ? { dynamodb: location }
      : { dynamodbOrders: tables.orders, dynamodbAccounts: tables.accounts };
  return new StoreUnavailableError(
    `${noun} ${missing.join(separator)} ${verb}. Check the ${tables ? "names" : "prefix"} and AWS_REGION, or create the tables with ` +
      `'${toCommandLine(["tables", "create"], flags)}'.`,
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
  const tables = Object.values(TABLES).flatMap(({ option }) => {
    const name = flags[flagOf(option)];
    return name === undefined ? [] : [`--${option}`, name];
  });
  return [PROGRAM, ...[...args, ...store, ...tables].map(quote)].join(" ");
}

function quote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
