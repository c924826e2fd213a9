import { expect, test } from "vitest";
import * as errors from "../../lib/client/client-errors.ts";
import { InvalidInputError, StoreOrdersError } from "../../lib/core/errors.ts";
import { openClient, readAll, rejection, streamResponse } from "./fixture.ts";

const DAY = Date.parse("2026-11-24T00:00:00Z");

test.each([
  [
    new errors.ApiError({ code: "invalid_input", message: "No.", requestId: undefined, status: 400 }),
    "invalid_input",
    false,
  ],
  [new errors.RateLimitedError(DAY), "rate_limited", true],
  [new errors.TimeoutError("idle", 5), "timeout", true],
  [new errors.NetworkError("Refused."), "network_error", true],
  [new errors.IncompleteListError("It ended."), "list_incomplete", true],
  [new errors.MalformedListError("No list."), "list_malformed", false],
])("%s has the name of its class, a code, and says whether a retry can help", (error, code, retryable) => {
  expect(error).toMatchObject({ name: error.constructor.name, code, retryable });
  expect(error).toBeInstanceOf(StoreOrdersError);
});

test("a rate limit says when the service accepts requests again", () => {
  expect(new errors.RateLimitedError(DAY).message).toBe(
    "The service accepts no requests before 2026-11-24T00:00:00.000Z.",
  );
});

test.each([
  [428, false],
  [429, true],
  [430, false],
  [500, false],
  [501, false],
  [502, true],
  [503, true],
  [504, true],
  [505, false],
] as const)("whether a %i can be retried: %s", (status, retryable) => {
  const code = "unexpected_response";
  expect(new errors.ApiError({ code, message: "No.", requestId: undefined, status })).toMatchObject({
    retryable,
  });
});

const INVALID = /^MalformedListError: Order 2 is invalid: .*complete/;

test.each([
  [
    "cancel",
    () => Promise.reject(new TypeError("fetch failed")),
    "NetworkError: The connection to the service failed.",
    new TypeError("fetch failed"),
  ],
  [
    "list",
    async () => streamResponse(['[{"id":1},'], "fails"),
    "IncompleteListError: The connection failed before the end of the list.",
    new TypeError("terminated"),
  ],
  ["list", Uint8Array.of(0xff), "MalformedListError: The list is not valid UTF-8.", expect.any(TypeError)],
  ["list", '[{"id":1},{"id":02}]', "MalformedListError: Order 2 is not valid JSON.", expect.any(SyntaxError)],
  ["list", '[{"id":1},{"id":2,"complete":1}]', INVALID, expect.any(InvalidInputError)],
  ["pages", '{"orders":[],"next":"a"}', "MalformedListError: The page leads to itself.", undefined],
] as const)(
  "the error of %s with the response %j says what is wrong: %s",
  async (call, response, text, cause) => {
    const network = typeof response === "function" ? response : async () => new Response(response);
    const { client, run } = await openClient({ network, maxAttempts: 1 });
    const calls = {
      cancel: () => client.cancel(1n),
      list: () => readAll(client.list()),
      pages: () => readAll(client.pages()),
    };
    const error = (await run(rejection(calls[call]()))) as Error;
    expect(`${error.name}: ${error.message}`).toEqual(
      typeof text === "string" ? text : expect.stringMatching(text),
    );
    expect(error.cause).toEqual(cause);
  },
);
