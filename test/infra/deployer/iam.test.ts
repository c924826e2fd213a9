import { describe, expect, test } from "vitest";
import { allows, type Context, type Policy, type Statement } from "./iam.ts";

const allow = (...statements: readonly Omit<Statement, "Effect">[]): Policy => ({
  Statement: statements.map((statement) => ({ Effect: "Allow", ...statement })),
});
const deny = (statement: Omit<Statement, "Effect">): Policy => ({
  Statement: [{ Effect: "Deny", ...statement }],
});
const everything = { Action: "*", Resource: "*" };
const role = "arn:aws:iam::123456789012:role/shop-list-role-1";
const create = (context: Context = {}) => ({ action: "iam:CreateRole", resource: role, context });

describe("the evaluation of IAM policies", () => {
  test("allows nothing that is not allowed, and nothing that is denied", () => {
    expect(allows([], create())).toBe(false);
    expect(allows([allow(everything)], create())).toBe(true);
    expect(allows([allow(everything), deny({ Action: "iam:*", Resource: "*" })], create())).toBe(false);
  });

  test("a boundary allows nothing by itself and limits everything", () => {
    const roles = allow({ Action: "iam:*", Resource: "*" });
    expect(allows([], create(), allow(everything))).toBe(false);
    expect(allows([allow(everything)], create(), roles)).toBe(true);
    expect(allows([allow(everything)], { action: "s3:GetObject", resource: "arn:aws:s3:::b/k" }, roles)).toBe(
      false,
    );
    expect(allows([allow(everything)], create(), deny(everything))).toBe(false);
  });

  test.each([
    ["iam:createrole", true],
    ["iam:Create*", true],
    ["iam:CreateRol?", true],
    ["iam:CreateRole?", false],
    ["iam:Create", false],
  ])("the action %s matches iam:CreateRole: %s", (Action, expected) => {
    expect(allows([allow({ Action, Resource: "*" })], create())).toBe(expected);
  });

  test.each([
    ["arn:aws:iam::123456789012:role/shop-*", true],
    ["arn:aws:iam::*:role/shop-*", true],
    ["arn:aws:iam::123456789012:role/Shop-*", false],
    ["arn:aws:iam::123456789012:role/shop-list-role-", false],
    ["arn:aws:iam::123456789012:user/shop-*", false],
    // A wildcard ends at a colon.
    ["arn:aws:iam:*role/shop-*", false],
  ])("the resource %s matches the role: %s", (Resource, expected) => {
    expect(allows([allow({ Action: "iam:CreateRole", Resource })], create())).toBe(expected);
  });

  test.each<[string, NonNullable<Statement["Condition"]>, Context, boolean]>([
    ["a value that is equal", { StringEquals: { "iam:K": "b" } }, { "iam:K": "b" }, true],
    ["a key in another case", { StringEquals: { "IAM:k": "b" } }, { "iam:K": "b" }, true],
    ["another value", { StringEquals: { k: "b" } }, { k: "b2" }, false],
    ["a missing key", { StringEquals: { k: "b" } }, {}, false],
    ["one of two values", { StringEquals: { k: ["a", "b"] } }, { k: "b" }, true],
    ["a pattern that StringEquals takes literally", { StringEquals: { k: "a*" } }, { k: "ab" }, false],
    ["a pattern of StringLike", { StringLike: { k: "a*" } }, { k: "ab" }, true],
    ["a pattern of ArnEquals", { ArnEquals: { k: "arn:aws:iam::*:b" } }, { k: "arn:aws:iam::1:b" }, true],
    [
      "two operators of which one fails",
      { StringEquals: { k: "a" }, StringLike: { l: "b" } },
      { k: "a" },
      false,
    ],
    ["two keys of which one fails", { StringEquals: { k: "a", l: "b" } }, { k: "a" }, false],
    ["all of several values", { "ForAllValues:StringLike": { k: "a*" } }, { k: ["a", "ab"] }, true],
    ["not all of several values", { "ForAllValues:StringLike": { k: "a*" } }, { k: ["a", "b"] }, false],
    ["all of no values", { "ForAllValues:StringLike": { k: "a*" } }, {}, true],
  ])("%s", (_case, Condition, context, expected) => {
    expect(allows([allow({ ...everything, Condition })], create(context))).toBe(expected);
  });

  test.each<[string, Partial<Statement>, Context]>([
    ["IpAddress", { Condition: { IpAddress: { k: "10.0.0.0/8" } } }, { k: "1" }],
    ["NotAction", { NotAction: "s3:*" } as object, {}],
    ["Principal", { Principal: { AWS: "*" } }, {}],
    ["ForAllValues", { Condition: { StringEquals: { k: "1" } } }, { k: ["1", "2"] }],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of IAM
    ["variable", { Condition: { StringEquals: { k: "${aws:username}" } } }, { k: "1" }],
  ])("what is not implemented is an error instead of a decision: %s", (name, part, context) => {
    expect(() => allows([allow({ ...everything, ...part })], create(context))).toThrow(name);
  });
});
