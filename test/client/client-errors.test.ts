import { expect, test } from "vitest";
import * as errors from "../../lib/client/client-errors.ts";
import { StoreOrdersError } from "../../lib/core/errors.ts";

const DAY = Date.parse("2026-11-24T00:00:00Z");

test.each([
  [
    new errors.ApiError({ code: "invalid_input", message: "No.", requestId: undefined, status: 400 }),
    "invalid_input",
    false,
  ],
  [new errors.RateLimitedError(DAY, false), "rate_limited", true],
  [new errors.TimeoutError("idle", 5), "timeout", true],
  [new errors.NetworkError("Refused."), "network_error", true],
  [new errors.IncompleteListError("It ended."), "list_incomplete", true],
  [new errors.MalformedListError("No list."), "list_malformed", false],
])("%s has the name of its class, a code, and says whether a retry can help", (error, code, retryable) => {
  expect(error).toMatchObject({ name: error.constructor.name, code, retryable });
  expect(error).toBeInstanceOf(StoreOrdersError);
});

test("a rate limit says when the service accepts requests again", () => {
  const until = "The service accepts no requests before 2026-11-24T00:00:00.000Z.";
  expect(new errors.RateLimitedError(DAY, false).message).toBe(until);
  expect(new errors.RateLimitedError(DAY, true).message).toBe(
    `${until} It asked for a longer wait, but the client waits at most a day.`,
  );
});
