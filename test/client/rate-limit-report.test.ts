import { expect, test } from "vitest";
import { backoff } from "../../lib/client/backoff.ts";
import { readRateLimit } from "../../lib/client/rate-limit-report.ts";
import { NOON } from "../http/fixture.ts";

const quota = { "x-ratelimit-remaining": "3", "x-ratelimit-reset": `${NOON / 1000 + 60}` };

test.each([
  ["nothing", {}, {}],
  ["the window", quota, { window: { remaining: 3, reset: NOON / 1000 + 60, resetsIn: 60_000 } }],
  [
    "the window by the service's own clock, which is ten minutes ahead of ours",
    { ...quota, date: new Date(NOON + 50_000).toUTCString() },
    { window: { remaining: 3, reset: NOON / 1000 + 60, resetsIn: 10_000 } },
  ],
  ["half a window", { "x-ratelimit-remaining": "3" }, {}],
  [
    "numbers that are none",
    { "x-ratelimit-remaining": "-1", "x-ratelimit-reset": "soon", "retry-after": "1.5" },
    {},
  ],
  ["a wait in seconds", { "retry-after": "42" }, { retryAfter: 42_000 }],
  ["a wait until an instant", { "retry-after": new Date(NOON + 5_000).toUTCString() }, { retryAfter: 5_000 }],
  ["an instant that is over", { "retry-after": new Date(NOON - 5_000).toUTCString() }, { retryAfter: 0 }],
])("headers that say %s", (_name, headers, report) => {
  expect(readRateLimit(new Headers(headers), NOON)).toEqual(report);
});

test("the backoff is any time up to a bound that doubles, and that has an end", () => {
  expect([1, 2, 3, 7, 8, 100].map((attempt) => backoff(attempt, () => 1))).toEqual([
    500, 1_000, 2_000, 30_000, 30_000, 30_000,
  ]);
  expect(backoff(5, () => 0)).toBe(0);
});
