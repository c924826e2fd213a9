import assert from "node:assert/strict";
import type { StoredOrder } from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import type { Store } from "../store.ts";

/** What some cases need besides an empty store. */
export interface ContractOptions {
  /** Opens another instance, as another process does. Without it, the cases use one instance as if it were several. */
  readonly openAnother?: () => Store | Promise<Store>;
  /** Makes the database unreachable for every instance, until the returned function is called. */
  readonly interrupt?: () => Promise<() => unknown>;
  /** Loses the response to the next write, which the database applies. Not needed without a network. */
  readonly loseResponse?: () => unknown;
  /** Replaces a record, or a history, by text that nobody can read. Not needed for a store that keeps objects. */
  readonly damage?: (id: bigint, part: "record" | "history") => unknown;
}

/** One guarantee of a store, with its check. Every check ends, and says in at most `MAX_MESSAGE_CHARS` what is wrong. */
export interface ContractCase {
  readonly name: string;
  /** The option without which the case is skipped. */
  readonly needs?: Exclude<keyof ContractOptions, "openAnother">;
  /** Rejects if the guarantee does not hold. Resolves with the reason if the case was skipped. */
  check(store: Store, options?: ContractOptions): Promise<string | undefined>;
}

export interface AllOptions extends Required<ContractOptions> {
  /** Closes an instance of `openAnother` before the case ends, which closes all others. */
  closeAnother(another: Store): Promise<void>;
}

const MAX_ITEMS = 5_000;

export async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of iterable) {
    all.push(item);
    if (all.length > MAX_ITEMS) assert.fail(`The iteration ends within ${MAX_ITEMS} items.`);
  }
  return all;
}

export async function findOrder(orders: OrderStore, id: bigint): Promise<StoredOrder | undefined> {
  const found = await orders.find(id);
  return found && { record: found.record, status: found.status };
}

/** The time within which a case ends, also over a store of which a call never settles. */
const MAX_CASE_MS = 120_000;

const MAX_MESSAGE_CHARS = 2_000;

interface Subjects extends Pick<Store, "orders" | "accounts"> {
  readonly store: Store;
}

interface CaseNeeds<Of> extends Pick<ContractCase, "needs"> {
  readonly of: Of;
  /** A part that not every store has. */
  readonly part?: "outbox" | "importedKeys";
}

/** Each case ends, closes what it opens, and fails with a message that a person can read. */
export function defineCases<Of extends keyof Subjects>(
  { of, part, ...needing }: CaseNeeds<Of>,
  define: (
    test: (name: string, check: (subject: Subjects[Of], options: AllOptions) => Promise<void>) => void,
  ) => void,
): readonly ContractCase[] {
  const { needs } = needing;
  const cases: ContractCase[] = [];
  define((name, check) => {
    cases.push({
      ...{ name, ...needing },
      async check(store, options = {}) {
        if (needs !== undefined && options[needs] === undefined) return `it needs the option '${needs}'`;
        const { orders, accounts, outbox } = store;
        const parts = { outbox, importedKeys: accounts.importedKeys };
        if (part !== undefined && parts[part] === undefined) return `the store has no '${part}'`;
        const subjects = { store, orders, accounts };
        const opened = new Set<Store>();
        const openAnother = async () => {
          if (options.openAnother === undefined) return store;
          const another = await options.openAnother();
          opened.add(another);
          return another;
        };
        const closeAnother = async (another: Store) => {
          if (opened.delete(another)) await another.close();
        };
        const { promise: late, reject } = Promise.withResolvers<never>();
        const message = `A call of the store has not settled: the case takes more than ${MAX_CASE_MS / 1_000} s.`;
        const timer = setTimeout(() => reject(new assert.AssertionError({ message })), MAX_CASE_MS);
        try {
          const allOptions = { ...options, openAnother, closeAnother } as AllOptions;
          await Promise.race([check(subjects[of], allOptions), late]);
          for (const another of opened) await Promise.race([closeAnother(another), late]);
        } catch (error) {
          for (const another of opened) another.close().catch(() => {});
          throw error instanceof assert.AssertionError ? shortened(error) : error;
        } finally {
          clearTimeout(timer);
        }
        return undefined;
      },
    });
  });
  return cases;
}

function shortened(error: assert.AssertionError): assert.AssertionError {
  if (error.message.length <= MAX_MESSAGE_CHARS) return error;
  return new assert.AssertionError({ message: `${error.message.slice(0, MAX_MESSAGE_CHARS - 1)}…` });
}

/** Fails with the first difference of two lists. Unlike `deepEqual`, it compares long ones in little memory. */
export function assertSameList(actual: readonly string[], expected: readonly string[], what = "the list") {
  const length = Math.max(actual.length, expected.length);
  for (let place = 0; place < length; place++) {
    if (actual[place] === expected[place]) continue;
    assert.fail(
      `${what} has ${expected.length} orders: expected ${expected[place] ?? "its end"} at place ${place + 1}, ` +
        `found ${actual[place] ?? "its end"}, of ${actual.length} orders`,
    );
  }
}

export function recordsOf(json: string): readonly string[] {
  return json === "" ? [] : json.split(/(?<=\}),(?=\{)/);
}
