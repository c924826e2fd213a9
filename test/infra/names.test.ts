import { describe, expect, test } from "vitest";
import { checkName, nameInAccount, ownerOf } from "../../infra/names.ts";

test.each([
  ["store-orders-staging", "store-orders", "staging", "store-orders-staging"],
  ["orders-staging", "shop", "staging", "orders-staging-shop"],
  ["orders", "shop", "staging", "orders-shop-staging"],
  ["orders-staging-eu", "orders", "staging", "orders-staging-eu"],
  ["orders", "shop", "order", "orders-shop-order"],
  ["orders", "shop.eu", "v1", "orders-shop-eu-v1"],
])("the name in an account of %s in %s/%s is %s", (name, project, stack, expected) => {
  expect(nameInAccount(name, { project, stack })).toBe(expected);
});

test("the owner is the project and stack before a rename", () => {
  const current = { project: "shop", stack: "live" };
  expect(ownerOf({}, current)).toEqual(current);
  expect(ownerOf({ renamedFrom: "production" }, current)).toEqual({ project: "shop", stack: "production" });
  const owner = { project: "orders", stack: "production" };
  expect(ownerOf({ renamedFrom: "orders/production" }, current)).toEqual(owner);
});

describe("a name that AWS limits", () => {
  const events = { events: { bus: "default" } };

  test.each([
    [42, {}],
    [40, events],
  ])("has at most %i characters", (limit, settings) => {
    expect(() => checkName("x".repeat(limit), settings)).not.toThrow();
    expect(() => checkName("x".repeat(limit + 1), settings)).toThrow(
      `has ${limit + 1} characters, but at most ${limit} fit, because the names of the functions begin with it.`,
    );
  });

  test("has only characters that every name can have", () => {
    expect(() => checkName("shop-v1.2", {})).toThrow("The name 'shop-v1.2' has a character");
  });
});
