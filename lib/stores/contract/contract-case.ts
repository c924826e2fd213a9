import type { Store } from "../store.ts";

/** One guarantee of a store, with its check. */
export interface ContractCase {
  readonly name: string;
  /** Takes an empty store. Rejects if the guarantee does not hold. */
  check(store: Store): Promise<void>;
}

/** Collects everything that an async iterable yields. */
export async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of iterable) all.push(item);
  return all;
}
