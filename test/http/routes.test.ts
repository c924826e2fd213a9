import { describe, expect, test } from "vitest";
import { codeOf, createHandlerFixture } from "./fixture.ts";

describe("routes", () => {
  test.each([
    ["/v1/store/orders/"],
    ["/v1//store/orders"],
    ["//v1/store/orders"],
    ["/v1/store/orders/1/"],
    ["/v1/store/orders//1"],
    ["/v1/store/Orders"],
    ["/v2/store/orders"],
    ["/store/orders"],
    ["/v1/store/%6frders"],
    ["/"],
  ])("%s is not a route and gets 404 route_not_found", async (path) => {
    const { send } = await createHandlerFixture();
    const answer = await send("GET", path);
    expect([answer.status, codeOf(answer)]).toEqual([404, "route_not_found"]);
  });

  test.each([
    ["POST", "/v1/store/orders", "GET, HEAD"],
    ["DELETE", "/v1/store/orders", "GET, HEAD"],
    ["OPTIONS", "/v1/store/orders", "GET, HEAD"],
    ["GET", "/v1/store/orders/1", "DELETE"],
    ["PATCH", "/v1/pets/1", "GET, HEAD"],
  ])("%s %s gets 405 with Allow", async (method, path, allow) => {
    const { send } = await createHandlerFixture();
    const answer = await send(method, path);
    expect([answer.status, codeOf(answer), answer.headers.get("allow")]).toEqual([
      405,
      "method_not_allowed",
      allow,
    ]);
  });
});
