import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  type Account,
  type Environment,
  type OrderWithHistory,
  orderFromJson,
  StoreUnavailableError,
  toLine,
} from "store-orders";

/** Everything in a file. */
export interface Data {
  readonly orders: ReadonlyMap<bigint, OrderWithHistory>;
  /** The lines of orders that cannot be read, by identifier. They stop no other order, and are kept as they are. */
  readonly damaged: ReadonlyMap<bigint, string>;
  readonly accounts: ReadonlyMap<string, Account>;
  /** The environment of all keys, once it is recorded. */
  readonly environment?: Environment;
}

const ACCOUNT_PREFIX = '{"account":';
const ENVIRONMENT_PREFIX = '{"environment":';
const ORDER_START = /^\{"id":(-?\d+)/;

/** Reads a file with one order or account per line, and one line for the environment. A missing file is empty. */
export function readData(path: string): Data {
  const orders = new Map<bigint, OrderWithHistory>();
  const damaged = new Map<bigint, string>();
  const accounts = new Map<string, Account>();
  let environment: Pick<Data, "environment"> = {};
  for (const line of readLines(path)) {
    if (line.startsWith(ACCOUNT_PREFIX)) {
      const { account } = JSON.parse(line) as { readonly account: Account };
      accounts.set(account.id, account);
    } else if (line.startsWith(ENVIRONMENT_PREFIX)) {
      environment = JSON.parse(line) as Pick<Data, "environment">;
    } else {
      const [, id] = ORDER_START.exec(line) ?? [];
      if (id === undefined) throw new Error(`${path} has a line of which nothing can be read: ${line}`);
      const order = readOrder(line);
      if (order?.record.id === BigInt(id)) orders.set(order.record.id, order);
      else damaged.set(BigInt(id), line);
    }
  }
  return { orders, damaged, accounts, ...environment };
}

/** Reads an order as it was stored: it was validated when it was placed, by the rules of that time. */
function readOrder(line: string): OrderWithHistory | undefined {
  try {
    const { status, history } = JSON.parse(line) as OrderWithHistory;
    return Array.isArray(history) ? { record: orderFromJson(line), status, history } : undefined;
  } catch {
    return undefined;
  }
}

function formatOrder(order: OrderWithHistory): string {
  return `${toLine(order).slice(0, -1)},"history":${JSON.stringify(order.history)}}`;
}

/** Replaces the content of the file. After a crash the file has either the old or the new content. */
export function writeData(path: string, { orders, damaged, accounts, environment }: Data): void {
  const lines = [
    ...(environment === undefined ? [] : [JSON.stringify({ environment })]),
    ...[...orders.values()].map(formatOrder),
    ...damaged.values(),
    ...[...accounts.values()].map((account) => JSON.stringify({ account })),
  ];
  throwUnavailable(() => {
    writeFileSync(`${path}.next`, lines.map((line) => `${line}\n`).join(""), { flush: true });
    renameSync(`${path}.next`, path);
    // The rename is durable once the directory is flushed.
    const directory = openSync(dirname(path), "r");
    fsyncSync(directory);
    closeSync(directory);
  });
}

/** Damages the line of an order, for the contract suite. */
export function damageOrder(path: string, id: bigint): void {
  const start = `{"id":${id}`;
  const lines = readLines(path).map((line) => (line.startsWith(`${start},`) ? start : line));
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
}

function readLines(path: string): readonly string[] {
  return throwUnavailable(() =>
    existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [],
  );
}

/** Turns every failure into the error that makes the service respond with 503 and admit no request. */
function throwUnavailable<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new StoreUnavailableError("The file cannot be read or written.", { cause });
  }
}
