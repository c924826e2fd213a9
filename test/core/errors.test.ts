import { describe, expect, test } from "vitest";
import {
  errorMessage,
  InvalidInputError,
  isInvalidInput,
  isNewerSchema,
  isStoreUnavailable,
  NewerSchemaError,
  StoreUnavailableError,
  toIssues,
} from "../../lib/core/errors.ts";
import { ERRORS } from "../../lib/http/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture } from "../http/fixture.ts";

/** The error that a second copy of the package would throw: the same code, but another class. */
class OtherCopyError extends Error {
  readonly code: string;
  constructor(code: string) {
    super("from another copy");
    this.code = code;
  }
}

describe("error guards", () => {
  test.each([
    [isStoreUnavailable, new StoreUnavailableError("down"), "store_unavailable"],
    [isInvalidInput, new InvalidInputError([]), "invalid_input"],
    [isNewerSchema, new NewerSchemaError("newer"), "newer_schema"],
  ] as const)("%o recognises the error of any copy of the package by its code", (guard, own, code) => {
    expect(guard(own)).toBe(true);
    expect(guard(new OtherCopyError(code))).toBe(true);
    expect(guard(new OtherCopyError("other"))).toBe(false);
    expect(guard(new Error(code))).toBe(false);
    expect(guard({ code })).toBe(false);
    expect(guard(undefined)).toBe(false);
  });
});

test("each error has its name, its code, and whether the same call can succeed later", () => {
  const errors = [
    new StoreUnavailableError("down"),
    new StoreUnavailableError("wrong password", { retryable: false }),
    new InvalidInputError([]),
    new NewerSchemaError("newer"),
  ];
  expect(errors.map(({ name, code, retryable }) => [name, code, retryable])).toEqual([
    ["StoreUnavailableError", "store_unavailable", true],
    ["StoreUnavailableError", "store_unavailable", false],
    ["InvalidInputError", "invalid_input", false],
    ["NewerSchemaError", "newer_schema", false],
  ]);
});

test("a store error of another copy of the package causes a 503, not a 500", async () => {
  const store = createMemoryStore();
  const { send } = await createHandlerFixture({ store });
  store.accounts.admit = () => Promise.reject(new OtherCopyError("store_unavailable"));
  const response = await send("GET", "/v1/store/orders");
  expect([response.status, codeOf(response)]).toEqual([503, "store_unavailable"]);
});

test("the table of API errors holds only errors that an HTTP response can have", () => {
  expect(Object.keys(ERRORS)).not.toContain("order_not_shipped");
  for (const [code, { status, message }] of Object.entries(ERRORS)) {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(message).toMatch(/^[A-Z].*\.$/);
  }
});

test("the message of several issues is one sentence after another", () => {
  const issues = [
    { path: "id", message: "Write a number." },
    { path: "", message: "One of two." },
    { path: "plan", message: "Choose one." },
  ];
  expect(new InvalidInputError(issues).message).toBe("id: Write a number. One of two. plan: Choose one.");
});

test("an error is explained with its cause, and never with what is not an error", () => {
  expect(errorMessage(new Error("outer", { cause: new Error("inner") }))).toBe("outer (inner)");
  expect(errorMessage(new Error("outer", { cause: "inner" }))).toBe("outer");
  expect(errorMessage("a secret")).toBe("unknown");
});

test("an error is explained to the last of its causes, each once, also those that lead back to it or have no message", () => {
  const chain = (...messages: readonly string[]) =>
    messages.reduceRight<Error | undefined>((cause, message) => new Error(message, { cause }), undefined);
  expect(errorMessage(chain("a", "b", "c", "d"))).toBe("a (b: c: d)");
  expect(errorMessage(chain("No access: it has expired", "it has expired", "at noon"))).toBe(
    "No access: it has expired (at noon)",
  );
  const addresses = new AggregateError([new Error("refused by ::1"), new Error("refused by 127.0.0.1")]);
  const failed = new TypeError("fetch failed", { cause: addresses });
  expect(errorMessage(failed)).toBe("fetch failed (refused by ::1, refused by 127.0.0.1)");
  // Nothing that can be thrown has an empty message.
  const empty = [
    new AggregateError([]),
    new AggregateError([new Error("")]),
    Object.assign(new Error(), { name: "" }),
  ];
  expect(empty.map(errorMessage)).toEqual(["AggregateError", "Error", "unknown"]);
  expect(errorMessage(new AggregateError([new Error("refused")], "All failed"))).toBe("All failed");
  const [first, second] = [new Error("first"), new RangeError()];
  first.cause = second;
  second.cause = first;
  expect(errorMessage(first)).toBe("first (RangeError)");
});

test("a schema error becomes issues with a path and a sentence, one for each unknown key", () => {
  const path = ["domains", "redirects", 0];
  const toIssue = (message: string) => toIssues({ code: "custom", path, message }, () => []);
  for (const [message, sentence] of [
    ["Too long", "Too long."],
    ["Use 1.5 or 2", "Use 1.5 or 2."],
    ["Why?", "Why?"],
    ["Use 2.", "Use 2."],
  ] as const)
    expect(toIssue(message)).toEqual([{ path: "domains.redirects[0]", message: sentence }]);
  const unknown = { code: "unrecognized_keys", path, message: "", keys: ["form", "too"] };
  const allowed = (at: readonly PropertyKey[]) => (at === path ? ["from", "to"] : []);
  expect(toIssues(unknown, allowed)).toEqual([
    { path: "domains.redirects[0].form", message: "Unknown key. Did you mean 'from'? Otherwise remove it." },
    { path: "domains.redirects[0].too", message: "Unknown key. Did you mean 'to'? Otherwise remove it." },
  ]);
  expect(toIssues({ ...unknown, path: [], keys: ["x"] }, allowed)).toEqual([
    { path: "x", message: "Unknown key. Remove it." },
  ]);
  // Case and the beginning of a name count too; an empty name, or one that resembles none, names all.
  for (const [key, meant] of [
    ["TIMEOUTSECOND", "timeoutSeconds"],
    ["timeout", "timeoutSeconds"],
    ["holds", "hold"],
  ])
    expect(
      toIssues({ ...unknown, keys: [`${key}`] }, () => ["hold", "timeoutSeconds"])[0]?.message,
    ).toContain(`'${meant}'`);
  for (const key of ["", "at", "bold-x", "h".repeat(100_000)])
    expect(toIssues({ ...unknown, keys: [key] }, () => ["hold", "domains"])[0]?.message).toContain(
      "hold, domains",
    );
});
