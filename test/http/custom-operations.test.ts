import { expect, test } from "vitest";
import { defineLifecycle } from "../../lib/core/lifecycle.ts";
import type { CustomOperation } from "../../lib/http/custom-operations.ts";
import { conflictsOf, defineOperation } from "../../lib/http/define-operation.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import type { HandlerOptions } from "../../lib/http/options.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { readStatus, statusDefinition, store, whoAmI } from "./custom-operations-fixture.ts";
import { codeOf, createHandlerFixture, MAX } from "./fixture.ts";

const SAME = "The path is the same as /store/orders/{orderId}. Write it like that.";

const operations = [...OPERATIONS, readStatus, whoAmI];

test("a custom operation is routed, authenticated and counted like the others", async () => {
  const { send, events } = await createHandlerFixture({ operations, store });
  const path = `/v1/store/orders/${MAX}/status`;
  const found = await send("GET", path);
  expect(found).toMatchObject({ status: 200, text: '"pending"' });
  expect(found.headers.get("x-ratelimit-remaining")).toBe("59");
  expect(events.at(-1)).toMatchObject({ operation: "readStatus", accountId: "shop", status: 200 });
  expect(codeOf(await send("GET", path, { authorization: "" }))).toBe("missing_api_key");
  expect(codeOf(await send("GET", "/v1/store/orders/77/status"))).toBe("order_not_found");
  expect((await send("DELETE", path)).headers.get("allow")).toBe("GET, HEAD");
  expect(await send("HEAD", path)).toMatchObject({ status: 200, text: "" });
  expect((await send("GET", "/v1/store/orders")).status).toBe(200);
});

test("the parameters have the types of the definition, in any order; an invalid identifier is the 404 of the operation", async () => {
  const { send } = await createHandlerFixture({ operations, store: createMemoryStore() });
  const answer = await send("POST", "/v1/eu%20west/callers/007", { "x-a": "b" }, { requestId: "request-1" });
  expect(answer).toMatchObject({ status: 404 });
  const created = await send("POST", "/v1/eu%20west/callers/7", { "x-a": "b" }, { requestId: "request-1" });
  expect(created).toMatchObject({ status: 201, text: '["eu west","7","shop","request-1","b"]' });
  expect(codeOf(await send("POST", "/v1/eu/callers/x"))).toBe("route_not_found");
  expect(codeOf(await send("GET", "/v1/store/orders/x/status"))).toBe("order_not_found");
});

test("an invalid identifier is the 404 of the operation, wherever that is among its errors", async () => {
  const errors = ["order_already_shipped", "order_not_found", "pet_not_found"] as const;
  const { send } = await createHandlerFixture({ operations: [{ ...readStatus, errors }], store });
  expect(codeOf(await send("GET", "/v1/store/orders/x/status"))).toBe("order_not_found");
});

test("an operation can be an instance of a class, with or without parameters", async () => {
  class Ping implements CustomOperation {
    readonly id: string = "ping";
    readonly method = "GET";
    readonly path: CustomOperation["path"] = "/ping";
    readonly tag = "orders";
    readonly summary = "Ping";
    readonly description = "Answers.";
    readonly success = { status: 200, description: "The answer." } as const;
    readonly errors = [];
    readonly parameters: NonNullable<CustomOperation["parameters"]> = {};
    readonly #write = JSON.stringify;
    async handle({ parameters }: Parameters<CustomOperation["handle"]>[0]) {
      return { status: 200, body: this.#write(Object.values(parameters)) } as const;
    }
  }
  class NamedPing extends Ping {
    override readonly id = "pingByName";
    override readonly path = "/ping/{name}";
    override readonly parameters = { name: { description: "A name.", type: "string" } } as const;
  }
  const { send } = await createHandlerFixture({ operations: [new Ping(), new NamedPing()], store });
  expect(await send("GET", "/v1/ping")).toMatchObject({ status: 200, text: "[]" });
  expect(await send("GET", "/v1/ping/ada")).toMatchObject({ status: 200, text: '["ada"]' });
});

test("the errors of a life cycle are those of an operation, each with 409 and its message", async () => {
  const shop = defineLifecycle({
    paid: { cancel: { to: "cancelled" }, pack: { to: "packed" } },
    packed: { cancel: { error: "already_packed" } },
    cancelled: {},
  });
  const operationOf = <E extends (typeof shop.events)[number]>(event: E) =>
    defineOperation({
      ...{ ...statusDefinition, id: `${event}Parcel`, method: "DELETE", path: "/parcels/{status}" },
      parameters: { status: { description: "Its status.", type: "string" } },
      success: { status: 204, description: "Cancelled." },
      ownErrors: conflictsOf(shop.errorsOf(event)),
      async handle({ parameters: { status } }) {
        if (!shop.isStatus(status)) return { error: "order_not_found" };
        const result = shop.transition(status, event);
        return result.ok ? { status: 204 } : { error: result.code };
      },
    });
  const { send } = await createHandlerFixture({ operations: [operationOf("cancel")], store });
  expect(codeOf(await send("DELETE", "/v1/parcels/lost"))).toBe("order_not_found");
  expect((await send("DELETE", "/v1/parcels/paid")).status).toBe(204);
  const refused = await send("DELETE", "/v1/parcels/packed");
  const message = "The order is packed; only paid orders accept 'cancel'.";
  expect(JSON.parse(refused.text)).toEqual({ code: "already_packed", message, status: 409 });
});

test("a dot in the path of an operation is a dot, and nothing else", async () => {
  const exported = { ...readStatus, id: "exported", path: "/store/{orderId}/status.v1.json" } as const;
  const { send } = await createHandlerFixture({ operations: [exported], store });
  expect(await send("GET", "/v1/store/2/status.v1.json")).toMatchObject({ status: 200, text: '"shipped"' });
  for (const name of ["statusv1json", "status-v1.json", "status.v1-json"])
    expect(codeOf(await send("GET", `/v1/store/2/${name}`))).toBe("route_not_found");
});

/** An operation that replies with its name and its parameters. */
const named = (method: "GET" | "DELETE", path: `/${string}`, names: string[] = []): CustomOperation => ({
  ...{ ...statusDefinition, id: `${method} ${path}`, method, path },
  parameters: Object.fromEntries(names.map((name) => [name, { description: "Any.", type: "string" }])),
  handle: async ({ parameters }) => ({ status: 200, body: JSON.stringify([path, parameters]) }),
});

test.each([
  ["GET", "/store/orders/count", "/store/orders/count"],
  ["GET", "/store/orders/other", "/store/orders/{name}"],
  ["DELETE", "/store/orders/stale", "/store/orders/stale"],
  ["GET", "/{a}/x", "/{first}/x"],
  ["GET", "/store/x", "/store/{second}"],
  ["GET", "/store/x/y", "/store/{second}/y"],
] as const)("%s %s is the operation at %s, wherever it is in the list", async (method, path, expected) => {
  const own = [
    ...[named("GET", "/{first}/x", ["first"]), named("GET", "/{first}/x/y", ["first"])],
    ...[named("GET", "/store/{second}", ["second"]), named("GET", "/store/{second}/y", ["second"])],
    ...[named("GET", "/store/orders/{name}", ["name"]), named("GET", "/store/orders/count")],
    named("DELETE", "/store/orders/stale"),
  ];
  const [list, , pets] = OPERATIONS;
  const parameters = { name: { description: "Any." } };
  const cancel = { ...OPERATIONS[1], path: "/store/orders/{name}", parameters };
  for (const operations of [
    [list, cancel, pets, ...own],
    [...own.toReversed(), list, cancel, pets],
  ] as NonNullable<HandlerOptions["operations"]>[]) {
    const { send } = await createHandlerFixture({ operations });
    const { status, text } = await send(method, `/v1${path}`);
    expect([status, JSON.parse(text)[0]]).toEqual([200, expected]);
  }
});

test.each(["__proto__", "constructor", "toString"])("a parameter can have the name %s", async (name) => {
  const { send } = await createHandlerFixture({ operations: [named("GET", `/a/{${name}}`, [name])] });
  expect((await send("GET", "/v1/a/b")).text).toBe(`["/a/{${name}}",{"${name}":"b"}]`);
});

test.each([
  ["a template of the same path", [named("GET", "/store/orders/{id}", ["id"])], SAME],
  ["a parameter twice", [named("GET", "/a/{b}/{b}", ["b"])], "The path has {b} twice. Rename one."],
])("%s stops the start", async (_what, own, message) => {
  const create = createHandlerFixture({ operations: [...OPERATIONS, ...own] });
  await expect(create).rejects.toMatchObject({ issues: [{ path: "operations[3].path", message }] });
});
