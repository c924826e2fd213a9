import type { Environment } from "../accounts/api-key.ts";
import { type InvalidInputError, invalidInput } from "../errors.ts";
import { EMPTY_HOST } from "../node/listen.ts";
import { isPlan, PLANS, type Plan } from "../plans/plan-limits.ts";

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** The options that select a store. */
export interface StoreFlags {
  readonly database?: string;
  readonly dynamodb?: string;
}

/** The store that a command uses. */
export type StoreChoice =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "dynamodb"; readonly prefix: string };

/** The path of the embedded database if none is configured. */
export const DEFAULT_DATABASE = ".data/store-orders.db";

/** Selects the store from the flags, otherwise from environment variables, otherwise the default database. */
export function chooseStore(flags: StoreFlags, env: EnvironmentVariables): StoreChoice {
  const database = readVariable(env, "STORE_ORDERS_DATABASE");
  const dynamodb = readVariable(env, "STORE_ORDERS_DYNAMODB");
  return (
    toStoreChoice(flags.database, flags.dynamodb, "--database or --dynamodb") ??
    toStoreChoice(database, dynamodb, "STORE_ORDERS_DATABASE or STORE_ORDERS_DYNAMODB") ?? {
      kind: "sqlite",
      path: DEFAULT_DATABASE,
    }
  );
}

function toStoreChoice(
  path: string | undefined,
  prefix: string | undefined,
  names: string,
): StoreChoice | undefined {
  if (path !== undefined && prefix !== undefined) throw invalidInput(names, "Set only one of them.");
  if (path === "" || prefix === "") throw invalidInput(names, "The value must not be empty.");
  if (prefix !== undefined) return { kind: "dynamodb", prefix };
  return path === undefined ? undefined : { kind: "sqlite", path };
}

/** Reads the environment segment of new keys from `STORE_ORDERS_ENVIRONMENT`; the default is `test`. */
export function readEnvironment(env: EnvironmentVariables): Environment {
  const name = readVariable(env, "STORE_ORDERS_ENVIRONMENT") ?? "test";
  if (name !== "test" && name !== "live")
    throw invalidValue("STORE_ORDERS_ENVIRONMENT", name, "Use test or live.");
  return name;
}

/** Reads the plan of the project from the flags, otherwise from `STORE_ORDERS_PLAN`; the default is `free`. */
export function readPlan(flags: { readonly plan?: Plan }, env: EnvironmentVariables): Plan {
  const plan = flags.plan ?? readVariable(env, "STORE_ORDERS_PLAN") ?? "free";
  if (!isPlan(plan)) throw invalidValue("STORE_ORDERS_PLAN", plan, `Use one of: ${PLANS.join(", ")}.`);
  return plan;
}

/** Reads the address to listen on from the flags, otherwise from `HOST` and `PORT`. */
export function readListenAddress(
  flags: { readonly host?: string; readonly port?: number },
  env: EnvironmentVariables,
): { readonly host: string; readonly port: number } {
  const host = flags.host ?? readVariable(env, "HOST") ?? "127.0.0.1";
  if (host === "") throw invalidInput("--host", EMPTY_HOST);
  const text = readVariable(env, "PORT") ?? "8787";
  const port = flags.port ?? parsePort(text);
  if (port === undefined) throw invalidValue("PORT", text, PORT_HINT);
  return { host, port };
}

/** The error text for an invalid port. */
export const PORT_HINT = "Use a port number from 0 to 65535; 0 selects a free port.";

/** Parses a port; returns `undefined` if it is invalid. */
export function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

/** An empty variable counts as unset. */
function readVariable(env: EnvironmentVariables, name: string): string | undefined {
  return env[name] || undefined;
}

function invalidValue(name: string, value: string, hint: string): InvalidInputError {
  return invalidInput(name, `'${value}' is invalid. ${hint}`);
}
