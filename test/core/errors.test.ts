import { describe, expect, test } from "vitest";
import {
  InvalidInputError,
  isInvalidInput,
  isNewerSchema,
  isStoreUnavailable,
  NewerSchemaError,
  StoreUnavailableError,
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

test("a store error of another copy of the package causes a 503, not a 500", async () => {
  const store = createMemoryStore();
  const { send } = await createHandlerFixture({ store });
  store.accounts.admit = () => Promise.reject(new OtherCopyError("store_unavailable"));
  const response = await send("GET", "/v1/store/orders");
  expect([response.status, codeOf(response)]).toEqual([503, "store_unavailable"]);
});

test("the table of API errors holds only errors that an HTTP response can have", () => {
  expect(Object.keys(ERRORS)).not.toContain("order_not_shipped");
});

test("the message of several issues is one sentence after another", () => {
  const issues = [
    { path: "id", message: "Write a number." },
    { path: "", message: "One of two." },
    { path: "plan", message: "Choose one." },
  ];
  expect(new InvalidInputError(issues).message).toBe("id: Write a number. One of two. plan: Choose one.");
});
