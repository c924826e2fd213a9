import { expect, test } from "vitest";
import {
  escapeControls,
  escapeLine,
  formatCount,
  formatDuration,
  formatTimestamp,
} from "../../lib/core/text.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

test.each([
  [-5, "0 s"],
  [0, "0 s"],
  [1, "1 s"],
  [36_001, "37 s"],
  [60 * SECOND, "1 min"],
  [2 * HOUR + 5 * 60 * SECOND + 7 * SECOND, "2 h 5 min"],
  [HOUR + 7 * SECOND, "1 h 7 s"],
  [72 * HOUR, "3 d"],
  [25 * HOUR + 61 * SECOND, "1 d 1 h"],
])("the duration of %d ms is written as %s", (ms, expected) => {
  expect(formatDuration(ms)).toBe(expected);
});

test("a count has separators, and all of its decimals", () => {
  expect([7, 1_000, 10_000, 1_234_567, 0.123456].map(formatCount)).toEqual([
    "7",
    "1,000",
    "10,000",
    "1,234,567",
    "0.123456",
  ]);
});

test("an instant is written as RFC 3339 with whole seconds", () => {
  expect(formatTimestamp(Date.UTC(2026, 10, 20, 9, 30, 5, 678))).toBe("2026-11-20T09:30:05Z");
});

test("control characters, also those that hide text, are escaped, and line feeds stay, but in a line", () => {
  const text = "a\u001b[31mb\u009b\u202ec\u{e0041}\u2028\r\nd €🐕";
  const escaped = String.raw`a\u001b[31mb\u009b\u202ec\udb40\udc41\u2028\u000d`;
  expect(escapeControls(text)).toBe(`${escaped}\nd €🐕`);
  expect(escapeLine(text)).toBe(String.raw`${escaped}\nd €🐕`);
  expect(JSON.parse(escapeControls(JSON.stringify(text)))).toBe(text);
});
