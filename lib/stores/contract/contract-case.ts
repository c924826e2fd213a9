import type { Store } from "../store.ts";

/** One promise and the check that a store keeps it. */
export interface ContractCase {
  readonly name: string;
  /** Wants an empty store; rejects where the promise is broken. */
  check(store: Store): Promise<void>;
}

/** Everything that an async iterable yields. */
export async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of iterable) all.push(item);
  return all;
}
