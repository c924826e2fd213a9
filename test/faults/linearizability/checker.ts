import { isDeepStrictEqual } from "node:util";

/**
 * One call of a store by one of many callers. The instants come from a clock that all processes of a machine share
 * (`process.hrtime`). `invoked` is before the call, `completed.at` after it.
 */
export interface Operation<Call, Result> {
  readonly call: Call;
  readonly invoked: bigint;
  /** Missing if the result is unknown: the call took effect at some later moment, or never. */
  readonly completed?: { readonly at: bigint; readonly result: Result };
}

/** The sequential specification of an object. Pure. */
export interface Model<State, Call, Result> {
  /** The state after the call, and its result. `other` is another state that is allowed after it. */
  step(
    state: State,
    call: Call,
  ): { readonly state: State; readonly other?: State | undefined; readonly result: Result };
  /** Equal for equal states. */
  keyOf(state: State): string;
}

/** Whether there is an order of the operations in which each takes effect atomically between its start and its end. */
export type Verdict<State, Call, Result> =
  | { readonly linearizable: true }
  | {
      readonly linearizable: false;
      /** The longest valid order that was found. */
      readonly longest: readonly Operation<Call, Result>[];
      readonly state: State;
      /** The operations one of which must come next, with the result that the model expects. */
      readonly stuck: readonly { readonly operation: Operation<Call, Result>; readonly expected: Result }[];
    };

/**
 * Searches for that order, as Wing and Gong do it: the next operation is one that began before any of the remaining ones ended. As Lowe adds, no state is searched twice with the same operations remaining.
 */
export function checkLinearizable<State, Call, Result>(
  { step, keyOf }: Model<State, Call, Result>,
  initial: State,
  history: readonly Operation<Call, Result>[],
): Verdict<State, Call, Result> {
  const operations = history
    .toSorted((a, b) => (a.invoked < b.invoked ? -1 : 1))
    .map((operation, index) => ({ operation, mask: 1n << BigInt(index) }));
  const completed = operations.reduce(
    (all, { operation, mask }) => (operation.completed ? all | mask : all),
    0n,
  );
  const visited = new Set<string>();
  const path: Operation<Call, Result>[] = [];
  let furthest = { path: [...path], done: 0n, state: initial };

  /** The operations that may come next. */
  function candidates(done: bigint): typeof operations {
    const remaining = operations.filter(({ mask }) => (done & mask) === 0n);
    const ends = remaining.flatMap(({ operation }) => operation.completed?.at ?? []);
    return remaining.filter(({ operation }) => ends.every((end) => operation.invoked <= end));
  }

  function search(done: bigint, state: State): boolean {
    // An incomplete operation need not have taken effect.
    if ((done & completed) === completed) return true;
    if (path.length > furthest.path.length) furthest = { path: [...path], done, state };
    for (const { operation, mask } of candidates(done)) {
      const { state: usual, other, result } = step(state, operation.call);
      if (operation.completed !== undefined && !isDeepStrictEqual(result, operation.completed.result))
        continue;
      for (const after of other === undefined ? [usual] : [usual, other]) {
        const visitedKey = `${done | mask} ${keyOf(after)}`;
        if (visited.has(visitedKey)) continue;
        visited.add(visitedKey);
        path.push(operation);
        if (search(done | mask, after)) return true;
        path.pop();
      }
    }
    return false;
  }

  if (search(0n, initial)) return { linearizable: true };
  const stuck = candidates(furthest.done).map(({ operation }) => {
    return { operation, expected: step(furthest.state, operation.call).result };
  });
  return { linearizable: false, longest: furthest.path, state: furthest.state, stuck };
}
