import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { defineOperation } from "../../lib/http/custom-operation.ts";
import { createHandler } from "../../lib/http/handler.ts";
import type { HandlerOptions } from "../../lib/http/handler-options.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, MAX } from "./fixture.ts";

const store = createMemoryStore();

const readStatus = defineOperation({
  id: "readStatus",
  method: "GET",
  path: "/store/orders/{orderId}/status",
  parameters: { orderId: { description: "The identifier of the order." } },
  tag: "orders",
  summary: "Read the status of an order",
  description: "The status is not part of an order.",
  success: { status: 200, description: "The status.", schema: { type: "string" } },
  errors: ["order_not_found"],
  async handle({ parameters: { orderId } }) {
    const order = await store.orders.find(orderId);
    return order === undefined
      ? { error: "order_not_found" }
      : { status: 200, body: JSON.stringify(order.status) };
  },
});

const whoAmI = defineOperation({
  id: "whoAmI",
  method: "POST",
  path: "/{region}/callers/{callerId}",
  parameters: {
    callerId: { description: "Any number." },
    region: { description: "Where.", type: "string" },
  },
  tag: "callers",
  summary: "Read the caller",
  description: "For support.",
  success: { status: 201, description: "The caller." },
  errors: [],
  stability: "experimental",
  handle: async ({ parameters: { region, callerId }, caller, requestId, request }) => ({
    status: 201,
    body: JSON.stringify([region, `${callerId}`, caller.accountId, requestId, request.headers.get("x-a")]),
  }),
});

const operations = [...OPERATIONS, readStatus, whoAmI];

test("a custom operation is routed, authenticated and counted like the others", async () => {
  const { send, events } = await createHandlerFixture({ operations, store });
  const path = `/v1/store/orders/${MAX}/status`;
  const found = await send("GET", path);
  expect([found.status, found.text, found.headers.get("x-ratelimit-remaining")]).toEqual([
    200,
    '"pending"',
    "59",
  ]);
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
  expect([created.status, JSON.parse(created.text)]).toEqual([
    201,
    ["eu west", "7", "shop", "request-1", "b"],
  ]);
  expect(codeOf(await send("POST", "/v1/eu/callers/x"))).toBe("route_not_found");
  expect(codeOf(await send("GET", "/v1/store/orders/x/status"))).toBe("order_not_found");
});

test("a custom operation is described in the OpenAPI document, with its tag and schema", async () => {
  const { send } = await createHandlerFixture({ operations, store: createMemoryStore() });
  const { paths, tags } = JSON.parse((await send("GET", "/openapi.json")).text);
  const { get } = paths["/store/orders/{orderId}/status"];
  expect(get.operationId).toBe("readStatus");
  expect(Object.keys(get.responses)).toEqual(["200", "401", "404", "429", "500", "503"]);
  expect(get.responses["200"].content["application/json"].schema).toEqual({ type: "string" });
  expect(get.parameters[0].schema).toEqual({ type: "integer", format: "int64" });
  const { post } = paths["/{region}/callers/{callerId}"];
  expect(post["x-stability"]).toBe("experimental");
  expect(
    post.parameters.map(({ name, schema }: { name: string; schema: { type: string } }) => [
      name,
      schema.type,
    ]),
  ).toEqual([
    ["region", "string"],
    ["callerId", "integer"],
  ]);
  expect(tags.map(({ name }: { name: string }) => name)).toEqual(["orders", "pets", "callers"]);
});

test("an error that a custom operation throws is 500 without its text", async () => {
  const failing = { ...readStatus, handle: () => Promise.reject(new Error("secret")) };
  const { send } = await createHandlerFixture({ operations: [failing], store: createMemoryStore() });
  const answer = await send("GET", "/v1/store/orders/1/status");
  expect([codeOf(answer), answer.text.includes("secret")]).toEqual(["internal_error", false]);
});

test("everything that is wrong with the operations is reported at startup", () => {
  const { handle: _none, ...withoutHandle } = readStatus;
  const wrong = [
    withoutHandle,
    { ...whoAmI, method: "TRACE" },
    { ...whoAmI, id: "b", path: "/pets/" },
    { ...readStatus, id: "listOrders", parameters: {}, errors: ["gone"] },
    { ...readStatus, id: "listOrders", path: "/store/orders/{id}/status" },
  ];
  const create = () =>
    createHandler({ store, operations: wrong as unknown as NonNullable<HandlerOptions["operations"]> });
  expect(create).toThrow(
    expect.objectContaining({
      issues: [
        {
          path: "operations[0].handle",
          message: "The operation readStatus has no implementation. Add a function 'handle'.",
        },
        { path: "operations[1].method", message: "Use one of: GET, POST, PUT, PATCH, DELETE." },
        {
          path: "operations[2].path",
          message: "Use a path such as /store/orders/{orderId}, without a slash at the end.",
        },
        {
          path: "operations[2].parameters.callerId",
          message: "The path has no {callerId}. Add it there, or remove it.",
        },
        {
          path: "operations[2].parameters.region",
          message: "The path has no {region}. Add it there, or remove it.",
        },
        { path: "operations[3].parameters.orderId", message: "Describe this parameter of the path." },
        { path: "operations[3].errors", message: "There is no error code 'gone'." },
        {
          path: "operations[3].path",
          message: "Another operation has GET /store/orders/{orderId}/status too. Change one.",
        },
        { path: "operations[4].parameters.id", message: "Describe this parameter of the path." },
        {
          path: "operations[4].parameters.orderId",
          message: "The path has no {orderId}. Add it there, or remove it.",
        },
        { path: "operations[4].id", message: "Another operation is named listOrders too. Rename one." },
        {
          path: "operations[4].path",
          message: "Another operation has GET /store/orders/{id}/status too. Change one.",
        },
      ],
    }),
  );
});

test("an operation with a mistake in its types does not compile", async () => {
  const root = new URL("../..", import.meta.url).pathname;
  const folder = await mkdtemp(join(tmpdir(), "store-orders-operations-"));
  const source = (line: string) => `
import { createHandler, defineOperation, OPERATIONS } from "${root}lib/http/index.ts";
import { createMemoryStore } from "${root}lib/stores/memory.ts";
const store = createMemoryStore();
const data = { id: "a", method: "GET", tag: "a", summary: "a", description: "a", success: { status: 200, description: "a" } } as const;
const parameters = { orderId: { description: "a" } };
${line}
`;
  const lines = [
    `defineOperation({ ...data, path: "/a/{orderId}", parameters, errors: [], handle: async ({ parameters: { orderId } }) => ({ status: 200, body: String(orderId + 1n) }) });`,
    `createHandler({ store, operations: [...OPERATIONS, { ...data, path: "/a", errors: [] }] });`,
    `defineOperation({ ...data, path: "/a", errors: [] });`,
    `defineOperation({ ...data, path: "/a/{orderId}", errors: [], handle: async () => ({ status: 200 }) });`,
    `defineOperation({ ...data, path: "/a/{orderId}", parameters: { order: { description: "a" } }, errors: [], handle: async () => ({ status: 200 }) });`,
    `defineOperation({ ...data, path: "/a/{orderId}", parameters, errors: [], handle: async ({ parameters: { id } }) => ({ status: 200, body: id }) });`,
    `defineOperation({ ...data, path: "/a", errors: ["order_not_found"], handle: async () => ({ error: "pet_not_found" }) });`,
    `defineOperation({ ...data, path: "/a", errors: ["gone"], handle: async () => ({ status: 200 }) });`,
  ];
  await Promise.all(lines.map((line, index) => writeFile(join(folder, `${index}.ts`), source(line))));
  const compilerOptions = {
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false,
    declaration: false,
    isolatedDeclarations: false,
    noUnusedLocals: false,
    typeRoots: [join(root, "node_modules/@types")],
  };
  const settings = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(settings));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  const { stdout = "" } = await promisify(execFile)(join(root, "node_modules/.bin/tsc"), [
    "-p",
    folder,
  ]).catch((error: { stdout: string }) => error);
  await rm(folder, { recursive: true });
  const files = new Set([...stdout.matchAll(/(?:^|\/)(\d)\.ts\(/gm)].map(([, file]) => file));
  expect([...files].sort(), stdout).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
});
