import { isDeepStrictEqual } from "node:util";
import type { Model, Operation } from "./history.ts";

/** Whether there is an order of the operations in which each takes effect at once, between its two instants. */
export type Verdict<State, Call, Reply> =
  | { readonly linearizable: true }
  | {
      readonly linearizable: false;
      /** As far as an order could be found. */
      readonly longest: readonly Operation<Call, Reply>[];
      readonly state: State;
      /** The operations of which one would have to come next, with the answer that it would have got. */
      readonly stuck: readonly { readonly operation: Operation<Call, Reply>; readonly expected: Reply }[];
    };

/**
 * Searches for that order, as Wing and Gong do it: what comes next is one of the operations that began before any of
 * the remaining ones ended. As Lowe adds, no state is searched twice from with the same operations remaining.
 */
export function checkLinearizable<State, Call, Reply>(
  { step, keyOf }: Model<State, Call, Reply>,
  initial: State,
  history: readonly Operation<Call, Reply>[],
): Verdict<State, Call, Reply> {
  const operations = history
    .toSorted((a, b) => (a.invoked < b.invoked ? -1 : 1))
    .map((operation, index) => ({ operation, bit: 1n << BigInt(index) }));
  const answered = operations.reduce((all, { operation, bit }) => (operation.answered ? all | bit : all), 0n);
  const visited = new Set<string>();
  const path: Operation<Call, Reply>[] = [];
  let furthest = { path: [...path], done: 0n, state: initial };

  /** Operations of which one may come after those that are done. */
  function candidates(done: bigint): typeof operations {
    const remaining = operations.filter(({ bit }) => (done & bit) === 0n);
    const ends = remaining.flatMap(({ operation }) => operation.answered?.at ?? []);
    return remaining.filter(({ operation }) => ends.every((end) => operation.invoked <= end));
  }

  function search(done: bigint, state: State): boolean {
    // One without an answer need not have taken effect.
    if ((done & answered) === answered) return true;
    if (path.length > furthest.path.length) furthest = { path: [...path], done, state };
    for (const { operation, bit } of candidates(done)) {
      const { state: after, answer } = step(state, operation.call);
      if (operation.answered !== undefined && !isDeepStrictEqual(answer, operation.answered.answer)) continue;
      const place = `${done | bit} ${keyOf(after)}`;
      if (visited.has(place)) continue;
      visited.add(place);
      path.push(operation);
      if (search(done | bit, after)) return true;
      path.pop();
    }
    return false;
  }

  if (search(0n, initial)) return { linearizable: true };
  const stuck = candidates(furthest.done).map(({ operation }) => {
    return { operation, expected: step(furthest.state, operation.call).answer };
  });
  return { linearizable: false, longest: furthest.path, state: furthest.state, stuck };
}
