import { expect, test } from "vitest";
import { splitTarget } from "../../lib/core/request-target.ts";

test.each([
  ["/v1/store/orders?page=2#x", undefined, "/v1/store/orders?page=2#x"],
  ["//evil.example/v1", undefined, "//evil.example/v1"],
  ["*", undefined, "*"],
  ["", undefined, ""],
  ["http://orders.example.com:8080/v1?a=b", "orders.example.com:8080", "/v1?a=b"],
  ["HTTPS://user@orders.example.com", "user@orders.example.com", "/"],
  ["https://orders.example.com?a=b", "orders.example.com", "/?a=b"],
  ["/http://orders.example.com/", undefined, "/http://orders.example.com/"],
])("the target %j has the authority %j and the path %j", (target, authority, path) => {
  expect(splitTarget(target)).toEqual({ authority, path });
});
