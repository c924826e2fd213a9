import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkLinearizable } from "./checker.ts";
import type { Model, Operation } from "./history.ts";

type Call = { readonly write: number } | "read" | "increment";
type Operations = readonly Operation<Call, number>[];

/** A register: a write answers what it wrote, an increment what it came to. */
const register: Model<number, Call, number> = {
  step(state, call) {
    if (call === "read") return { state, answer: state };
    const next = call === "increment" ? state + 1 : call.write;
    return { state: next, answer: next };
  },
  keyOf: String,
};

/** A call from one instant to another; without an answer where it has no end. */
function from(invoked: number, to: number, call: Call, answer: number): Operation<Call, number> {
  return { call, invoked: BigInt(invoked), answered: { at: BigInt(to), answer } };
}

function lost(invoked: number, call: Call): Operation<Call, number> {
  return { call, invoked: BigInt(invoked) };
}

const isLinearizable = (history: Operations) => checkLinearizable(register, 0, history).linearizable;

describe("a history is linearizable if", () => {
  test.for<[string, Operations]>([
    ["nothing happened", []],
    ["calls follow one another", [from(1, 2, { write: 5 }, 5), from(3, 4, "read", 5)]],
    ["a read that overlaps a write sees it", [from(1, 9, { write: 5 }, 5), from(2, 3, "read", 5)]],
    [
      "a read that overlaps a write does not see it yet",
      [from(1, 9, { write: 5 }, 5), from(2, 3, "read", 0)],
    ],
    [
      "reads that follow each other see an overlapping write from the second one on",
      [from(1, 9, { write: 5 }, 5), from(2, 3, "read", 0), from(4, 5, "read", 5)],
    ],
    [
      "increments overlap and each counts",
      [from(1, 9, "increment", 2), from(2, 8, "increment", 1), from(10, 11, "read", 2)],
    ],
    ["a lost write took effect", [lost(1, { write: 5 }), from(2, 3, "read", 5)]],
    ["a lost write never took effect", [lost(1, { write: 5 }), from(2, 3, "read", 0)]],
    [
      "a lost write took effect long after",
      [lost(1, { write: 5 }), from(2, 3, "read", 0), from(4, 5, { write: 6 }, 6), from(7, 8, "read", 5)],
    ],
  ])("%s", ([, history]) => {
    expect(isLinearizable(history)).toBe(true);
    expect(isLinearizable(history.toReversed())).toBe(true);
  });
});

describe("a history is not linearizable if", () => {
  test.for<[string, Operations]>([
    ["a read misses a write that was over", [from(1, 2, { write: 5 }, 5), from(3, 4, "read", 0)]],
    ["a read sees a write that has not begun", [from(1, 2, "read", 5), from(3, 4, { write: 5 }, 5)]],
    [
      "reads that follow each other see an overlapping write come and go",
      [from(1, 9, { write: 5 }, 5), from(2, 3, "read", 5), from(4, 5, "read", 0)],
    ],
    ["an increment is lost", [from(1, 9, "increment", 1), from(2, 8, "increment", 1)]],
    ["an increment counts twice", [from(1, 9, "increment", 1), from(10, 11, "read", 2)]],
    ["a lost increment counts twice", [lost(1, "increment"), from(2, 3, "read", 2)]],
    ["a lost write takes effect before it begins", [from(1, 2, "read", 5), lost(3, { write: 5 })]],
    ["a lost write is seen, then not", [lost(1, { write: 5 }), from(2, 3, "read", 5), from(4, 5, "read", 0)]],
  ])("%s", ([, history]) => {
    expect(isLinearizable(history)).toBe(false);
    expect(isLinearizable(history.toReversed())).toBe(false);
  });
});

const operation = fc
  .record({
    invoked: fc.nat(12),
    length: fc.nat(6),
    call: fc.constantFrom<Call[]>("read", "increment", { write: 0 }, { write: 2 }),
    answer: fc.option(fc.nat(3), { freq: 4, nil: undefined }),
  })
  .map(({ invoked, length, call, answer }) =>
    answer === undefined ? lost(invoked, call) : from(invoked, invoked + length, call, answer),
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

/** By the definition: something takes effect first that no answered one precedes, and the rest has an order. */
function hasOrder(remaining: Operations, state: number): boolean {
  if (remaining.every(({ answered }) => answered === undefined)) return true;
  return remaining.some((first) => {
    const rest = remaining.filter((other) => other !== first);
    if (rest.some(({ answered }) => answered !== undefined && answered.at < first.invoked)) return false;
    const { state: after, answer } = register.step(state, first.call);
    return (first.answered?.answer ?? answer) === answer && hasOrder(rest, after);
  });
}

test("the checker reports the operations that cannot come next, with the responses that they would have got", () => {
  const write = from(1, 2, { write: 5 }, 5);
  const read = from(3, 4, "read", 0);
  expect(checkLinearizable(register, 0, [read, write])).toEqual({
    linearizable: false,
    longest: [write],
    state: 5,
    stuck: [{ operation: read, expected: 5 }],
  });
});

test("a history of many concurrent calls is checked quickly, because no state is searched twice", () => {
  const history = Array.from({ length: 14 }, (_, index) => from(index, 100 + index, "increment", 14 - index));
  expect(isLinearizable(history)).toBe(true);
  expect(isLinearizable([...history, from(200, 201, "read", 13)])).toBe(false);
  const writes = Array.from({ length: 14 }, (_, index) => lost(index, { write: index % 2 }));
  expect(isLinearizable([...writes, from(200, 201, "read", 7)])).toBe(false);
});
