import { expect, test } from "vitest";
import { stringify } from "yaml";
import * as z from "zod";
import { defineOperation } from "../../../lib/http/define-operation.ts";
import { ERRORS } from "../../../lib/http/errors.ts";
import { openApiDocument } from "../../../lib/http/openapi.ts";
import { OPERATIONS } from "../../../lib/http/operations.ts";
import { V2_PREVIEW_OPERATIONS } from "../../../lib/http/v2-preview.ts";
import { orderJsonSchema } from "../../../lib/orders/order.ts";
import { readStatus, whoAmI } from "../custom-operations-fixture.ts";
import { createHandlerFixture } from "../fixture.ts";

interface Document {
  readonly paths: Record<string, Record<string, { responses: Record<string, { headers: object }> }>>;
}
interface Described {
  readonly responses?: Record<string, { content?: Record<string, { schema?: object }> }>;
}
const plain = (document: object) => JSON.parse(JSON.stringify(document)) as Document;

/** An operation with every kind of input, error and note, beside the page of v2. */
const place = defineOperation({
  id: "placeOrder",
  method: "POST",
  version: "v2",
  path: "/store/orders",
  tag: "warehouse",
  summary: "Place an order",
  description: "The order is stored before the response is sent.",
  query: z.object({
    dry: z.stringbool().default(false).describe("Whether to store nothing."),
    notes: z.string(),
  }),
  body: z.object({ quantity: z.int().max(100).describe("How many.") }),
  success: { status: 201, description: "Order placed." },
  errors: ["order_not_found"],
  ownErrors: {
    order_conflict: { status: 409, message: "The order exists." },
    warehouse_full: { status: 423, message: "The warehouse is full.", schema: { type: "object" } },
    warehouse_closed: { status: 423, message: "The warehouse is closed." },
  },
  stability: "beta",
  deprecation: { since: "2026-03-01T00:00:00Z", sunset: "2026-09-01T12:00:00+02:00", link: "/changes" },
  handle: async () => ({ status: 201 }),
});

// After a change of the document: vitest run --config test/vitest.config.ts test/http/openapi/document.test.ts -u
test("the document with every kind of operation is the one that document.yaml shows", async () => {
  const { send } = await createHandlerFixture({
    operations: [...OPERATIONS, readStatus, whoAmI, ...V2_PREVIEW_OPERATIONS, place],
    openapi: {
      servers: [
        { url: "https://orders.example.com/v1", description: "Production" },
        { url: "https://sandbox.example.com/shop" },
      ],
    },
  });
  const document = JSON.parse((await send("GET", "/openapi.json")).text);
  await expect(stringify(document, { lineWidth: 0 })).toMatchFileSnapshot("document.yaml");
});

test("title, description and contact are the shop's own, and the version stays that of the interface", async () => {
  const openapi = {
    ...{ title: "Pet Shop", description: "The orders of **our** shop." },
    contact: { name: "Support", url: "https://shop.example/help", email: "api@shop.example" },
  };
  const { send } = await createHandlerFixture({ openapi });
  const { info } = JSON.parse((await send("GET", "/openapi.json")).text);
  const { info: usual } = JSON.parse(JSON.stringify(openApiDocument()));
  const description = `${openapi.description}\n\n${usual.description}`;
  expect(info).toEqual({ ...openapi, description, version: "1.0.0" });
  const { send: sendTitled } = await createHandlerFixture({ openapi: { title: "Pet Shop" } });
  const titled = JSON.parse((await sendTitled("GET", "/openapi.json")).text);
  expect(titled.info).toEqual({ title: "Pet Shop", description: usual.description, version: "1.0.0" });
});

test("it has only values of JSON, so that a writer of YAML that rejects any other accepts it", () => {
  expect(openApiDocument()).toStrictEqual(plain(openApiDocument()));
});

function schemasIn(value: unknown): readonly Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(schemasIn)];
}

test("a client accepts what a later version adds to a response, and a request is still closed", () => {
  const operations = [...OPERATIONS, ...V2_PREVIEW_OPERATIONS, place];
  const { paths, components } = JSON.parse(JSON.stringify(openApiDocument({ operations })));
  const responses = Object.values<object>(paths).flatMap((path) =>
    Object.values<{ responses?: object }>(path as never).map((operation) => operation.responses),
  );
  const found = schemasIn([components.schemas, components.headers, responses]);
  expect(found.filter((schema) => schema["additionalProperties"] === false || "enum" in schema)).toEqual([]);
  expect(components.schemas.Error.properties.code.examples).toContain("precondition_failed");
  expect(orderJsonSchema.additionalProperties).toBe(false);
  const times = found.filter(({ examples = [], example = examples }) => Number(example) > 2 ** 30);
  expect(times.map(({ schema }) => schema)).toEqual([{ type: "integer", format: "int64", minimum: 0 }]);
});

test("the preview of v2 and further operations change nothing of v1 but add known codes", () => {
  const read = (operations: Parameters<typeof openApiDocument>[0]) => {
    const { paths, components } = JSON.parse(JSON.stringify(openApiDocument(operations)));
    const { examples, ...code } = components.schemas.Error.properties.code;
    components.schemas.Error.properties.code = code;
    return { paths, components, codes: examples };
  };
  const before = read({});
  const after = read({ operations: [...OPERATIONS, ...V2_PREVIEW_OPERATIONS, place] });
  for (const path of Object.keys(before.paths)) expect(after.paths[path]).toEqual(before.paths[path]);
  expect(after.components).toEqual(before.components);
  expect(after.codes).toEqual(expect.arrayContaining(before.codes));
});

test("every error code appears in the document", () => {
  const { info, paths } = JSON.parse(JSON.stringify(openApiDocument()));
  const told = JSON.stringify(paths) + info.description;
  // No operation of the API fulfils an order.
  const answered = Object.keys(ERRORS).filter((code) => code !== "order_not_shipped");
  expect(answered.filter((code) => !told.includes(code))).toEqual([]);
});

test("every error response declares its body: without it a generated client cannot read the code", () => {
  const { paths } = JSON.parse(JSON.stringify(openApiDocument({ operations: [...OPERATIONS, place] })));
  const operations = Object.values(paths).flatMap((path) => Object.values(path as Record<string, Described>));
  const errors = operations.flatMap(({ responses = {} }) =>
    Object.entries(responses).filter(([status]) => status > "399"),
  );
  expect(errors.map(([status]) => status)).toContain("409");
  expect(errors.filter(([, { content }]) => content?.["application/json"]?.schema === undefined)).toEqual([]);
});

test.each([
  ["GET", "/store/orders", "", 200],
  ["GET", "/store/orders", "wrong", 401],
  ["DELETE", "/store/orders/{orderId}", "1", 204],
  ["DELETE", "/store/orders/{orderId}", "2", 409],
  ["DELETE", "/store/orders/{orderId}", "77", 404],
  ["GET", "/pets/{petId}", "7", 200],
  ["GET", "/pets/{petId}", "77", 404],
  ["GET", "/pets/{petId}", "wrong", 401],
])("%s %s (%s): the response %i has every header of the document", async (method, path, id, status) => {
  const { send } = await createHandlerFixture({
    pets: async (petId) => (petId === 7n ? { id: petId } : undefined),
  });
  const answer = await send(
    method,
    `/v1${path.replace(/\{\w+\}/, id)}`,
    id === "wrong" ? { authorization: "" } : {},
  );
  expect(answer.status).toBe(status);
  const { paths } = plain(openApiDocument());
  const promised = Object.keys(paths[path]?.[method.toLowerCase()]?.responses[status]?.headers ?? {});
  expect(promised.length).toBeGreaterThan(3);
  expect(promised.filter((name) => !answer.headers.has(name))).toEqual([]);
});

test("/openapi.json is served without a key and without rate-limit headers, this server first", async () => {
  const { send } = await createHandlerFixture();
  const { status, text, headers } = await send("GET", "/openapi.json", { authorization: "" });
  expect(status).toBe(200);
  expect(headers.get("x-ratelimit-limit")).toBeNull();
  expect(JSON.parse(text).servers[0]).toEqual({ url: "./v1", description: "This server" });
});
