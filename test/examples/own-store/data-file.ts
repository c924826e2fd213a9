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
  readonly accounts: ReadonlyMap<string, Account>;
  /** The environment of all keys, once it is recorded. */
  readonly environment?: Environment;
}

const ACCOUNT_PREFIX = '{"account":';
const ENVIRONMENT_PREFIX = '{"environment":';

/** Reads a file with one order or account per line, and one line for the environment. A missing file is empty. */
export function readData(path: string): Data {
  const orders = new Map<bigint, OrderWithHistory>();
  const accounts = new Map<string, Account>();
  let environment: Pick<Data, "environment"> = {};
  for (const line of readLines(path)) {
    if (line.startsWith(ACCOUNT_PREFIX)) {
      const { account } = JSON.parse(line) as { readonly account: Account };
      accounts.set(account.id, account);
    } else if (line.startsWith(ENVIRONMENT_PREFIX)) {
      environment = JSON.parse(line) as Pick<Data, "environment">;
    } else {
      const order = readOrder(line, path);
      orders.set(order.record.id, order);
    }
  }
  return { orders, accounts, ...environment };
}

/** Reads an order as it was stored: it was validated when it was placed, by the rules of that time. */
function readOrder(line: string, path: string): OrderWithHistory {
  try {
    const { status, history } = JSON.parse(line) as OrderWithHistory;
    return { record: orderFromJson(line), status, history };
  } catch (cause) {
    throw new Error(`${path} has an invalid line: ${line}`, { cause });
  }
}

function formatOrder(order: OrderWithHistory): string {
  return `${toLine(order).slice(0, -1)},"history":${JSON.stringify(order.history)}}`;
}

/** Replaces the content of the file. After a crash the file has either the old or the new content. */
export function writeData(path: string, { orders, accounts, environment }: Data): void {
  const lines = [
    ...(environment === undefined ? [] : [JSON.stringify({ environment })]),
    ...[...orders.values()].map(formatOrder),
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
