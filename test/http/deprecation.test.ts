import { expect, test } from "vitest";
import { OPERATIONS, type ServiceOperation } from "../../lib/http/operations.ts";
import { createHandlerFixture, factsOf } from "./fixture.ts";

const DAY_OF_SUNSET = Date.parse("2027-06-01T00:00:00Z");
const pets = async (petId: bigint) => (petId === 9007199254740993n ? { id: petId, name: "Rex" } : undefined);

test("getPet returns the pet of the configured source, with all digits and the deprecation headers", async () => {
  const { send } = await createHandlerFixture({ pets });
  const { status, text, headers } = await send("GET", "/v1/pets/9007199254740993");
  expect([status, text]).toEqual([200, '{"id":9007199254740993,"name":"Rex"}']);
  expect(headers.get("deprecation")).toBe(`@${Date.parse("2026-06-01T00:00:00Z") / 1000}`);
  expect(headers.get("sunset")).toBe("Tue, 01 Jun 2027 00:00:00 GMT");
  for (const [id, more, expected] of [
    ["1", {}, 404],
    ["1", { authorization: "" }, 401],
  ] as const) {
    const other = await send("GET", `/v1/pets/${id}`, more);
    expect(other.status).toBe(expected);
    for (const name of ["deprecation", "sunset", "link"]) expect(other.headers.has(name)).toBe(true);
  }
});

test("the link of a deprecated operation is openapi.docsUrl, otherwise the OpenAPI document below any base path", async () => {
  const linkOf = async (openapi: { readonly docsUrl?: string }) => {
    const { send } = await createHandlerFixture({ pets, openapi });
    return (await send("GET", "/v1/pets/1")).headers.get("link") ?? "";
  };
  expect(await linkOf({ docsUrl: "https://docs.example.com/" })).toBe(
    '<https://docs.example.com/>; rel="deprecation"; type="text/html", <https://docs.example.com/>; rel="sunset"; type="text/html"',
  );
  const [, target = ""] =
    /^<([^>]*)>; rel="deprecation"; type="application\/json", /.exec(await linkOf({})) ?? [];
  expect(new URL(target, "https://shop.example.com/live/v1/pets/1").pathname).toBe("/live/openapi.json");
});

test("from the sunset date on, the operation replies 410 operation_sunset", async () => {
  const { send, time } = await createHandlerFixture({ pets });
  time.now = DAY_OF_SUNSET - 1;
  expect((await send("GET", "/v1/pets/9007199254740993")).status).toBe(200);
  time.now = DAY_OF_SUNSET;
  const answer = await send("GET", "/v1/pets/9007199254740993");
  expect(factsOf(answer, "sunset")).toEqual([410, "operation_sunset", expect.stringContaining("2027")]);
  expect((await send("GET", "/v1/pets/9007199254740993", { authorization: "" })).status).toBe(401);
});

test("any operation can be deprecated by data alone", async () => {
  const deprecation = { since: "2026-01-01T00:00:00Z", sunset: "2026-12-01T00:00:00Z", link: "/v2" };
  const operations: ServiceOperation[] = OPERATIONS.map((operation) =>
    operation.id === "listOrders" ? { ...operation, deprecation } : operation,
  );
  const { send, time } = await createHandlerFixture({ operations });
  const { status, headers } = await send("GET", "/v1/store/orders");
  expect([status, headers.get("sunset")]).toEqual([200, "Tue, 01 Dec 2026 00:00:00 GMT"]);
  expect((await send("DELETE", "/v1/store/orders/1")).headers.has("sunset")).toBe(false);
  time.now = Date.parse(deprecation.sunset);
  expect((await send("GET", "/v1/store/orders")).status).toBe(410);
});
