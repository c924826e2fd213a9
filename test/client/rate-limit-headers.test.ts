import { expect, test } from "vitest";
import { readFeedback } from "../../lib/client/request-queue.ts";
import { NOON } from "../http/fixture.ts";

const MINUTE = NOON / 1000 + 60;
const window = (remainingRequests: number, resetSeconds: number, resetsInMs: number) => ({
  window: { remainingRequests, resetSeconds, resetsInMs },
});
const quota = { "x-ratelimit-remaining": "3", "x-ratelimit-reset": `${NOON / 1000 + 60}` };

const INVALID_WAITS = [
  ...["Friday, 20-Nov-26 12:00:05", "Fri Nov 6 12:00:05 2026", "Fri, 20-Nov 2026 12:00:05 GMT"],
  ...["", "-1", "1.5", "1e9", "0x10", "NaN", "Infinity", "soon", "5, 5", "12 GMT"],
  ...["Wed, 01 Jan 275760 00:00:00 GMT", "+275760-09-13T00:00:00Z GMT", "Fri, 99 Nov 2026 99:99:99 GMT"],
];

test.each<readonly [name: string, headers: Record<string, string>, expected: object]>([
  ["no headers", {}, {}],
  ["a window", quota, window(3, MINUTE, 60_000)],
  [
    "a window and a Date, 50 seconds ahead of the client's clock",
    { ...quota, date: new Date(NOON + 50_000).toUTCString() },
    window(3, MINUTE, 10_000),
  ],
  ["a window that ends now", { ...quota, "x-ratelimit-reset": `${NOON / 1000}` }, {}],
  [
    "a window that ends a minute after a day",
    { ...quota, "x-ratelimit-reset": `${MINUTE + 86_400}` },
    window(3, MINUTE + 86_400, 86_460_000),
  ],
  ["a window that ends later", { ...quota, "x-ratelimit-reset": `${NOON / 1000 + 86_461}` }, {}],
  ["a window without a remainder", { "x-ratelimit-reset": `${NOON / 1000 + 60}` }, {}],
  ["an incomplete window", { "x-ratelimit-remaining": "3" }, {}],
  ...["soon", "-5", "NaN", "1e15", `${NOON / 1000 - 60}`, "60", "999999999999", "9".repeat(400)].map(
    (reset) => [`the reset ${reset.slice(0, 20)}`, { ...quota, "x-ratelimit-reset": reset }, {}] as const,
  ),
  ...["-1", "NaN"].map(
    (left) => [`the remainder ${left}`, { ...quota, "x-ratelimit-remaining": left }, {}] as const,
  ),
  [
    "a remainder of 400 digits",
    { ...quota, "x-ratelimit-remaining": "9".repeat(400) },
    window(Infinity, MINUTE, 60_000),
  ],
  ...INVALID_WAITS.map((wait) => [`the wait '${wait}'`, { "retry-after": wait }, {}] as const),
  ["a wait in seconds", { "retry-after": "42" }, { pauseMs: 42_000 }],
  ["a wait until a date", { "retry-after": new Date(NOON + 5_000).toUTCString() }, { pauseMs: 5_000 }],
  ...["Friday, 20-Nov-26 12:00:05 GMT", "Fri Nov 20 12:00:05 2026"].map(
    (date) => [`a wait until ${date}`, { "retry-after": date }, { pauseMs: 5_000 }] as const,
  ),
  ...["Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"].map(
    (date) => [`a wait until ${date}`, { "retry-after": date }, { pauseMs: 0 }] as const,
  ),
  [
    "a Date in an obsolete form, 5 seconds ahead of the client's clock",
    { date: "Fri Nov 20 12:00:05 2026", "retry-after": "Friday, 20-Nov-26 12:00:15 GMT" },
    { pauseMs: 10_000 },
  ],
  ["a date in the past", { "retry-after": new Date(NOON - 5_000).toUTCString() }, { pauseMs: 0 }],
])("headers with %s are parsed", (_name, headers, expected) => {
  const response = new Response(null, { status: 502, headers });
  expect(readFeedback(response, NOON, 0)).toEqual({ pauseMs: 0, ...expected });
});

test.each([
  ...["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"],
  ...["Wed, 01 Jan 275760 00:00:00 GMT", "now"],
])("the Date %s is ignored: the reset is compared with the client's clock", (date) => {
  const response = new Response(null, { headers: { ...quota, date } });
  expect(readFeedback(response, NOON, 0).window?.resetsInMs).toBe(60_000);
});

test.each([200, 204, 401, 404, 500])("a Retry-After on a %i is ignored", (status) => {
  const response = new Response(null, { status, headers: { "retry-after": "42" } });
  expect(readFeedback(response, NOON, 0)).toEqual({});
});
