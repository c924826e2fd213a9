import { expect, test } from "vitest";
import { readRateLimitHeaders } from "../../lib/client/request-queue.ts";
import { NOON } from "../http/fixture.ts";

const quota = { "x-ratelimit-remaining": "3", "x-ratelimit-reset": `${NOON / 1000 + 60}` };

test.each([
  ["no headers", {}, {}],
  [
    "a window",
    quota,
    { window: { remainingRequests: 3, resetSeconds: NOON / 1000 + 60, resetsInMs: 60_000 } },
  ],
  [
    "a window and a Date, 50 seconds ahead of the client's clock",
    { ...quota, date: new Date(NOON + 50_000).toUTCString() },
    { window: { remainingRequests: 3, resetSeconds: NOON / 1000 + 60, resetsInMs: 10_000 } },
  ],
  ["a window that ends now", { ...quota, "x-ratelimit-reset": `${NOON / 1000}` }, {}],
  [
    "a window that ends a minute after a day",
    { ...quota, "x-ratelimit-reset": `${NOON / 1000 + 86_460}` },
    { window: { remainingRequests: 3, resetSeconds: NOON / 1000 + 86_460, resetsInMs: 86_460_000 } },
  ],
  ["a window that ends later", { ...quota, "x-ratelimit-reset": `${NOON / 1000 + 86_461}` }, {}],
  ["a window without a remainder", { "x-ratelimit-reset": `${NOON / 1000 + 60}` }, {}],
  ["an incomplete window", { "x-ratelimit-remaining": "3" }, {}],
  [
    "invalid numbers",
    { "x-ratelimit-remaining": "-1", "x-ratelimit-reset": "soon", "retry-after": "1.5" },
    {},
  ],
  ["a wait in seconds", { "retry-after": "42" }, { retryAfterMs: 42_000 }],
  ["a wait until a date", { "retry-after": new Date(NOON + 5_000).toUTCString() }, { retryAfterMs: 5_000 }],
  ["a date in the past", { "retry-after": new Date(NOON - 5_000).toUTCString() }, { retryAfterMs: 0 }],
])("headers with %s are parsed", (_name, headers, expected) => {
  expect(readRateLimitHeaders(new Headers(headers), NOON)).toEqual(expected);
});
