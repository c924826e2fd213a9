import { expect, test } from "vitest";
import { codeOf, createHandlerFixture, factsOf } from "./fixture.ts";

test.each([
  ...["/v1/store/orders/", "/v1//store/orders", "//v1/store/orders", "/v1/store/orders/1/"],
  ...["/v1/store/orders//1", "/v1/store/Orders", "/v2/store/orders", "/store/orders", "/"],
])("%s is not a route and gets 404 route_not_found", async (path) => {
  const { send } = await createHandlerFixture();
  const answer = await send("GET", path);
  expect([answer.status, codeOf(answer)]).toEqual([404, "route_not_found"]);
});

test.each(["/v1/store/%6frders", "/v1/%73%74ore/orders", "/%761/store/orders?a=%2e%2e/b&c=\\"])(
  "%s with encoded unreserved characters is the list",
  async (target) => {
    const { send } = await createHandlerFixture();
    expect((await send("GET", "/", {}, { target })).status).toBe(200);
  },
);

test.each([
  ...["/v1/pets/../store/orders/1", "/v1/pets/%2e%2e/store/orders/1", "/v1/pets/%2E./store/orders/1"],
  ...["/v1/pets/.%2e/store/orders/1", "/../v1/store/orders/1", "/v1/./store/orders/1"],
  ...["/v1/store/orders/1/.", "/v1/store/orders/1/..", "/v1/store/orders/1/x/%2e%2e", "/.", "/..", "/%2e?x"],
  ...["/v1\\store\\orders\\1", "/docs/..\\v1\\store\\orders\\1", "\\v1/store/orders/1"],
  ...["/v1/pets/..%2fstore/orders/1", "/v1/pets/..%5cstore/orders/1", "/v1/pets/%2e%2e%2Fstore/orders/1"],
  ...["/v1/store/orders/1#x", "/v1/store/orders/1\n", "/v1/store/orders/\t1", "/v1/store/orders/1\0"],
  ...["/v1/%2e/store/orders/1", "/v1/store/orders/1\x7f"],
])("%j can be read as another path and gets 400 bad_request without effect", async (target) => {
  const { send, store } = await createHandlerFixture();
  for (const method of ["GET", "DELETE"]) {
    const answer = await send(method, "/v1/store/orders/1", {}, { target });
    expect([answer.status, codeOf(answer)]).toEqual([400, "bad_request"]);
    expect(answer.headers.get("x-ratelimit-limit")).toBe("60");
  }
  expect(await store.orders.find(1n)).toMatchObject({ status: "pending" });
});

test.each(["/v1/store/orders/...", "/v1/store/.orders", "/v1/store/orders/a..b", "/v1/store/orders/1%2"])(
  "%s has no dot segment and gets 404",
  async (target) => {
    const { send } = await createHandlerFixture();
    expect((await send("DELETE", "/", {}, { target })).status).toBe(404);
  },
);

test.each(["/openapi.json", "/docs"])("%s can only be read; others are requests to the API", async (path) => {
  const documents = async (asked: string) =>
    asked === path ? ({ status: 200, body: "{}" } as const) : (null as unknown as undefined);
  const { send } = await createHandlerFixture({ documents });
  expect((await send("GET", "/v1/store/orders")).status).toBe(200);
  for (const method of ["GET", "HEAD"]) expect((await send(method, path)).status).toBe(200);
  for (const method of ["POST", "DELETE", "OPTIONS"]) {
    expect(codeOf(await send(method, path))).toBe("route_not_found");
    expect(codeOf(await send(method, path, { authorization: "" }))).toBe("missing_api_key");
  }
});

test.each([
  ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "TRACE"].map((method) => [method, 405] as const),
  ...["get", "LOCK", "PROPFIND", ""].map((method) => [method, 501] as const),
])("the method '%s' is answered with %i", async (method, status) => {
  const { handler, key } = await createHandlerFixture();
  const headers = new Headers({ authorization: `Bearer ${key}` });
  const answer = await handler.respond?.({ method, url: "http://localhost/v1/store/orders", headers });
  expect(answer?.status).toBe(status);
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
  expect(factsOf(answer, "allow")).toEqual([405, "method_not_allowed", allow]);
});
