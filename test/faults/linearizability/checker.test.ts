import fc from "fast-check";
import { expect, test } from "vitest";
import { checkLinearizable, type Model, type Operation } from "./checker.ts";

type Call = { readonly write: number } | "read" | "increment";
type Operations = readonly Operation<Call, number>[];

/** A register: a write returns what it wrote, an increment the new value. */
const register: Model<number, Call, number> = {
  step(state, call) {
    if (call === "read") return { state, result: state };
    const next = call === "increment" ? state + 1 : call.write;
    return { state: next, result: next };
  },
  keyOf: String,
};

function completedCall(invoked: number, to: number, call: Call, result: number): Operation<Call, number> {
  return { call, invoked: BigInt(invoked), completed: { at: BigInt(to), result } };
}

function incompleteCall(invoked: number, call: Call): Operation<Call, number> {
  return { call, invoked: BigInt(invoked) };
}

const isLinearizable = (history: Operations) => checkLinearizable(register, 0, history).linearizable;

const operation = fc
  .record({
    invoked: fc.nat(12),
    length: fc.nat(6),
    call: fc.constantFrom<Call[]>("read", "increment", { write: 0 }, { write: 2 }),
    result: fc.option(fc.nat(3), { freq: 4, nil: undefined }),
  })
  .map(({ invoked, length, call, result }) =>
    result === undefined
      ? incompleteCall(invoked, call)
      : completedCall(invoked, invoked + length, call, result),
  );

test("the search finds an order exactly if one exists, compared with trying every order", () => {
  let orders = 0;
  const history = fc.array(operation, { maxLength: 6 });
  fc.assert(
    fc.property(history, (operations) => {
      const expected = hasOrder(operations, 0);
      if (expected) orders++;
      return isLinearizable(operations) === expected;
    }),
    { numRuns: 20_000 },
  );
  expect(orders).toBeGreaterThan(100);
});

/** By definition: some operation that no completed one precedes takes effect first, and the rest has an order. */
function hasOrder(remaining: Operations, state: number): boolean {
  if (remaining.every(({ completed }) => completed === undefined)) return true;
  return remaining.some((first) => {
    const rest = remaining.filter((other) => other !== first);
    if (rest.some(({ completed }) => completed !== undefined && completed.at < first.invoked)) return false;
    const { state: after, result } = register.step(state, first.call);
    return (first.completed?.result ?? result) === result && hasOrder(rest, after);
  });
}

test("a history is linearizable if a result follows from the other state that the model allows", () => {
  const model = { ...register, step: (state: number) => ({ state, other: state + 1, result: state }) };
  const reads = [
    completedCall(1, 2, "read", 0),
    completedCall(3, 4, "read", 1),
    completedCall(5, 6, "read", 1),
  ];
  expect(checkLinearizable(model, 0, reads).linearizable).toBe(true);
  expect(checkLinearizable(model, 0, reads.toReversed()).linearizable).toBe(true);
  expect(checkLinearizable(model, 1, reads).linearizable).toBe(false);
});

test("the checker reports the operations that cannot come next, with the results that the model expects", () => {
  const write = completedCall(1, 2, { write: 5 }, 5);
  const read = completedCall(3, 4, "read", 0);
  expect(checkLinearizable(register, 0, [read, write])).toEqual({
    linearizable: false,
    longest: [write],
    state: 5,
    stuck: [{ operation: read, expected: 5 }],
  });
});

test("a history of many concurrent calls is checked quickly, because no state is searched twice", () => {
  const history = Array.from({ length: 14 }, (_, index) =>
    completedCall(index, 100 + index, "increment", 14 - index),
  );
  expect(isLinearizable(history)).toBe(true);
  expect(isLinearizable([...history, completedCall(200, 201, "read", 13)])).toBe(false);
  const writes = Array.from({ length: 14 }, (_, index) => incompleteCall(index, { write: index % 2 }));
  expect(isLinearizable([...writes, completedCall(200, 201, "read", 7)])).toBe(false);
});
