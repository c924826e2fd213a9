import { expect, test } from "vitest";
import { type OrderChange, packChange, unpackChanges, unpackEvents } from "../../lib/orders/history.ts";

const AT = 1_763_640_000_000;

const CHANGES: readonly OrderChange[] = [
  { event: "place", at: AT },
  { event: "ship", at: AT + 0.9, by: "orders ship" },
  { event: "cancel", at: -1, by: "shop-1.a_b", requestId: "r-1" },
  { event: "fulfil", at: 0, requestId: ",;: %\u{1f6d2}" },
  { event: "cancel", at: AT, by: "orders", requestId: "" },
  { event: "cancel", at: AT, by: "a;c1,b", requestId: "ü" },
  { event: "cancel", at: AT, by: "my orders ship" },
];

test("a history gives back each change with exactly the fields that it was written with", () => {
  const text = CHANGES.map(packChange).join("");
  expect(unpackChanges(text)).toEqual([
    { event: "place", at: AT },
    { event: "ship", at: AT, by: "orders ship" },
    { event: "cancel", at: -1, by: "shop-1.a_b", requestId: "r-1" },
    { event: "fulfil", at: 0, requestId: ",;: %\u{1f6d2}" },
    { event: "cancel", at: AT, by: "orders" },
    { event: "cancel", at: AT, by: "a;c1,b", requestId: "ü" },
    { event: "cancel", at: AT, by: "my orders ship" },
  ]);
  expect(unpackEvents(text)).toEqual(["place", "ship", "cancel", "fulfil", "cancel", "cancel", "cancel"]);
  expect(text, "its characters").toMatch(/^[\x20-\x7e]*$/);
  expect([unpackChanges(""), unpackEvents("")]).toEqual([[], []]);
});

test("a change with text that is not well-formed is written without an error", () => {
  const text = packChange({ event: "cancel", at: AT, by: "a\ud800" });
  expect(unpackChanges(text)).toEqual([{ event: "cancel", at: AT, by: "a\ufffd" }]);
});

test("a change of an operator's command is short: most orders of an import have one", () => {
  expect(packChange({ event: "ship", at: AT, by: "orders ship" })).toBe("s1763640000000,:ship;");
  expect(packChange({ event: "place", at: AT })).toBe("p1763640000000;");
});
