import assert from "node:assert/strict";
import type { Store } from "../store.ts";

/** One guarantee of a store, with its check. Every check ends, and says in at most `MAX_MESSAGE_CHARS` what is wrong. */
export interface ContractCase {
  readonly name: string;
  /** Takes an empty store. Rejects if the guarantee does not hold. */
  check(store: Store): Promise<void>;
}

/** More than any case needs. */
const MAX_ITEMS = 5_000;

/** Collects everything that an async iterable yields. Fails if it does not end. */
export async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of iterable) {
    all.push(item);
    if (all.length > MAX_ITEMS) assert.fail(`The iteration ends within ${MAX_ITEMS} items.`);
  }
  return all;
}

/** The time within which a case ends, also over a store of which a call never settles. */
const MAX_CASE_MS = 120_000;

const MAX_MESSAGE_CHARS = 2_000;

/** The same case, which always ends, and whose message a person can read. */
export function bounded({ name, check }: ContractCase): ContractCase {
  return {
    name,
    async check(store) {
      const { promise: late, reject } = Promise.withResolvers<never>();
      const message = `A call of the store has not settled: the case takes more than ${MAX_CASE_MS / 1_000} s.`;
      const timer = setTimeout(() => reject(new assert.AssertionError({ message })), MAX_CASE_MS);
      try {
        await Promise.race([check(store), late]);
      } catch (error) {
        throw error instanceof assert.AssertionError ? shortened(error) : error;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function shortened(error: assert.AssertionError): assert.AssertionError {
  if (error.message.length <= MAX_MESSAGE_CHARS) return error;
  return new assert.AssertionError({ message: `${error.message.slice(0, MAX_MESSAGE_CHARS - 1)}…` });
}

/** Fails with the first difference of two lists of orders. Both are serialised records, separated by commas. */
export function assertSameRecords(actual: string, expected: string, when = "the list"): void {
  if (actual === expected) return;
  const [found, wanted] = [recordsOf(actual), recordsOf(expected)];
  const at = wanted.findIndex((record, index) => record !== found[index]);
  const place = at === -1 ? wanted.length : at;
  assert.fail(
    `${when} has ${wanted.length} records in ascending order: expected ${wanted[place] ?? "its end"} at place ${place + 1}, ` +
      `found ${found[place] ?? "its end"}, of ${found.length} records`,
  );
}

function recordsOf(json: string): readonly string[] {
  return json === "" ? [] : json.split(/(?<=\}),(?=\{)/);
}
