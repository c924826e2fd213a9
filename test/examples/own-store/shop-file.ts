import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Account, parseLine, type StoredOrder, StoreUnavailableError, toLine } from "store-orders";

/** Everything that a file holds at a moment. */
export interface Shop {
  readonly orders: ReadonlyMap<bigint, StoredOrder>;
  readonly accounts: ReadonlyMap<string, Account>;
}

const ACCOUNT = '{"account":';

/** Reads a shop from its file, one order or account a line. A file that is not there yet holds nothing. */
export function readShop(path: string): Shop {
  const orders = new Map<bigint, StoredOrder>();
  const accounts = new Map<string, Account>();
  for (const line of linesOf(path)) {
    if (line.startsWith(ACCOUNT)) {
      const { account } = JSON.parse(line) as { readonly account: Account };
      accounts.set(account.id, account);
    } else {
      const parsed = parseLine(line);
      if ("issues" in parsed) throw new Error(`${path} is damaged at: ${line}`);
      orders.set(parsed.order.record.id, parsed.order);
    }
  }
  return { orders, accounts };
}

/** Puts another shop in the place of the one in the file: all of it, on disk, or nothing. */
export function writeShop(path: string, { orders, accounts }: Shop): void {
  const lines = [
    ...[...orders.values()].map(toLine),
    ...[...accounts.values()].map((account) => JSON.stringify({ account })),
  ];
  available(() => {
    writeFileSync(`${path}.next`, lines.map((line) => `${line}\n`).join(""), { flush: true });
    renameSync(`${path}.next`, path);
    // The new name is on disk only when the folder is.
    const folder = openSync(dirname(path), "r");
    fsyncSync(folder);
    closeSync(folder);
  });
}

function linesOf(path: string): readonly string[] {
  return available(() => (existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : []));
}

/** A store that cannot be asked says so with this error: the service answers 503 and lets nobody through. */
function available<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new StoreUnavailableError("The file cannot be read or written.", { cause });
  }
}
