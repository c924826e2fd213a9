import { expect, test } from "vitest";
import {
  changeIdOf,
  EVENT_LETTERS,
  newChange,
  type OrderChange,
  packChange,
  packDetails,
  unpackChanges,
  unpackDetails,
} from "../../lib/orders/history.ts";
import { OUTBOX_ATTRIBUTES } from "../../lib/stores/dynamodb/orders.ts";

const AT = 1_763_640_000_000;
const TOKEN = "4kTz0aQ9Lb";

const CHANGES: readonly OrderChange[] = [
  { event: "place", at: AT },
  { event: "ship", at: AT, by: "orders ship" },
  { event: "cancel", at: 1, by: "shop-1.a_b", requestId: "r-1" },
  { event: "fulfil", at: 0, requestId: ",;: %\u{1f6d2}" },
  { event: "cancel", at: AT, by: "orders", requestId: "" },
  { event: "cancel", at: AT, token: TOKEN, by: "a;c1,b.c", requestId: "ü" },
  { event: "cancel", at: AT, token: TOKEN },
  { event: "cancel", at: AT, by: "my orders ship" },
];

/** As they are read: an empty identifier counts as missing. */
const READ = CHANGES.with(4, { event: "cancel", at: AT, by: "orders" });

test("a history gives back each change with exactly the fields that it was written with", () => {
  const text = CHANGES.map(packChange).join("");
  expect(unpackChanges(text)).toEqual(READ);
  expect(text, "its characters").toMatch(/^[\x20-\x7e]*$/);
  expect(unpackChanges("")).toEqual([]);
  for (const [index, change] of CHANGES.entries())
    expect(unpackDetails(change.event, packDetails(change, 36), 36)).toEqual(READ[index]);
});

test("a change with text that is not well-formed is written without an error", () => {
  const text = packChange({ event: "cancel", at: AT, by: "a\ud800" });
  expect(unpackChanges(text)).toEqual([{ event: "cancel", at: AT, by: "a\ufffd" }]);
});

test("a change of an operator's command is short: most orders of an import have one", () => {
  const change = { event: "ship", at: AT, by: "orders ship" } as const;
  expect(packChange(change)).toBe("s1763640000000,:ship;");
  expect(packChange({ ...change, token: TOKEN })).toBe(`s1763640000000.${TOKEN},:ship;`);
  expect(packChange({ event: "place", at: AT })).toBe("p1763640000000;");
});

test("a new change has a token that no other one has, and its identifier ends with it", () => {
  const changes = Array.from({ length: 1_000 }, () => newChange("ship", AT, { by: "me" }));
  expect(new Set(changes.map(({ token }) => token)).size).toBe(1_000);
  for (const change of changes) {
    expect(change).toEqual({
      event: "ship",
      at: AT,
      by: "me",
      token: expect.stringMatching(/^[0-9A-Za-z]{10}$/),
    });
    expect(unpackChanges(packChange(change))).toEqual([change]);
    expect(changeIdOf(-7n, 2, change)).toBe(`-7:2:${change.token}`);
  }
});

test("a change that was stored before there were tokens keeps its identifier", () => {
  const before = ["c1763640000000,acme.1;", "c1763640000000.Ab3x0,acme.1;", "c1763640000000.a-_b9Z,acme.1;"];
  for (const text of before) {
    const [change = expect.fail()] = unpackChanges(text);
    expect([change, changeIdOf(7n, 2, change)]).toEqual([{ event: "cancel", at: AT, by: "acme.1" }, "7:2"]);
  }
});

test.each([
  ["p1763640000000;k1763640000000;", "an event 'k' that this version does not know"],
  // A letter that another one hides, and a token with a letter and a digit.
  ["x1763640000000.p5c7000000;", "an event 'x'"],
  ["1763640000000;", "an event '1'"],
  [";", "an event ''"],
  ["p1763640000000", "no end"],
  ["p1763640000000;garbage", "no end"],
  ["p;", "instant of 'place'"],
  ["pNaN;", "instant of 'place'"],
  ["p17a;", "instant of 'place'"],
  ["p 17;", "instant of 'place'"],
  ["s8640000000000001;", "instant of 'ship'"],
  ["p1763640000000,%E0%A4;", "URI malformed"],
])("the history %j is damaged, and nothing of it is skipped", (text, message) => {
  expect(() => unpackChanges(text)).toThrow(message);
});

test("each event has a letter of its own, none of which is that of another attribute of DynamoDB", () => {
  const letters = [...Object.values(EVENT_LETTERS), ...OUTBOX_ATTRIBUTES];
  expect(new Set(letters).size).toBe(letters.length);
  for (const letter of letters) expect(letter).toMatch(/^[a-z]$/);
});

test.each([Number.NaN, Infinity, -1, AT + 0.9, AT * 1_000])(
  "a change at %d is an error, not a history that nobody can read",
  (at) => {
    expect(() => packChange({ event: "cancel", at })).toThrow("at: It is ");
  },
);
