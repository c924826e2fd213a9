import type { Environment } from "../accounts/api-key.ts";
import { InvalidInputError } from "../errors.ts";

/** The environment's variables, as a process has them. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The options that name a store. */
export interface StoreFlags {
  readonly database?: string;
  readonly dynamodb?: string;
}

/** Which store a command works on. */
export type StoreChoice =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "dynamodb"; readonly prefix: string };

/** Where the embedded database is kept unless somebody says otherwise. */
export const DEFAULT_DATABASE = ".data/store-orders.db";

/** The store that flags name, or else the environment. */
export function chooseStore(flags: StoreFlags, variables: Variables): StoreChoice {
  const named = {
    database: readVariable(variables, "STORE_ORDERS_DATABASE"),
    dynamodb: readVariable(variables, "STORE_ORDERS_DYNAMODB"),
  };
  return (
    oneStore(flags.database, flags.dynamodb, "--database or --dynamodb") ??
    oneStore(named.database, named.dynamodb, "STORE_ORDERS_DATABASE or STORE_ORDERS_DYNAMODB") ?? {
      kind: "sqlite",
      path: DEFAULT_DATABASE,
    }
  );
}

function oneStore(
  path: string | undefined,
  prefix: string | undefined,
  names: string,
): StoreChoice | undefined {
  if (path !== undefined && prefix !== undefined) throw wrong(names, "Give one of them, not both.");
  if (path === "" || prefix === "") throw wrong(names, "Give a value that is not empty.");
  if (prefix !== undefined) return { kind: "dynamodb", prefix };
  return path === undefined ? undefined : { kind: "sqlite", path };
}

/** The middle of the keys that are issued: `test` unless `STORE_ORDERS_ENVIRONMENT` says `live`. */
export function environmentOf(variables: Variables): Environment {
  const name = readVariable(variables, "STORE_ORDERS_ENVIRONMENT") ?? "test";
  if (name !== "test" && name !== "live") throw wrong("STORE_ORDERS_ENVIRONMENT", "Write test or live.");
  return name;
}

/** Where a server listens: the flags, or else `HOST` and `PORT`. */
export function listenOn(
  flags: { readonly host?: string; readonly port?: number },
  variables: Variables,
): { readonly host: string; readonly port: number } {
  const host = flags.host ?? readVariable(variables, "HOST") ?? "127.0.0.1";
  return { host, port: flags.port ?? readPort(readVariable(variables, "PORT") ?? "8787") };
}

function readPort(text: string): number {
  const port = parsePort(text);
  if (port === undefined) throw wrong("PORT", PORT_RANGE);
  return port;
}

/** Says which ports there are. */
export const PORT_RANGE = "Write a whole number from 0 to 65535; 0 takes any free port.";

/** Reads a port; `undefined` where it is none. */
export function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

/** An empty variable counts as none. */
function readVariable(variables: Variables, name: string): string | undefined {
  return variables[name] || undefined;
}

function wrong(path: string, message: string): InvalidInputError {
  return new InvalidInputError([{ path, message }]);
}
