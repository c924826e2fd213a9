import { expect, test } from "vitest";
import { stringify } from "yaml";
import * as z from "zod";
import { defineOperation } from "../../../lib/http/define-operation.ts";
import { ERRORS } from "../../../lib/http/errors.ts";
import { openApiDocument } from "../../../lib/http/openapi.ts";
import { OPERATIONS } from "../../../lib/http/operations.ts";
import { V2_PREVIEW_OPERATIONS } from "../../../lib/http/v2-preview.ts";
import { whoAmI } from "../custom-operations-fixture.ts";
import { createHandlerFixture } from "../fixture.ts";

interface Response {
  readonly headers: Record<string, object>;
  readonly content?: {
    readonly "application/json": {
      readonly schema: object;
      readonly examples: Record<string, { value: object }>;
    };
  };
}
interface Document {
  readonly info: { readonly description: string };
  readonly paths: Record<
    string,
    Record<
      string,
      { operationId: string; "x-stability"?: string; tags: string[]; responses: Record<string, Response> }
    >
  >;
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
    operations: [...OPERATIONS, whoAmI, ...V2_PREVIEW_OPERATIONS, place],
    servers: [
      { url: "https://orders.example.com/v1", description: "Production" },
      { url: "https://sandbox.example.com/shop" },
    ],
  });
  const document = JSON.parse((await send("GET", "/openapi.json")).text);
  await expect(stringify(document, { lineWidth: 0 })).toMatchFileSnapshot("document.yaml");
});

test("the document is OpenAPI 3.1, version 1.0.0, with a server relative to it and the bearer scheme", () => {
  const document = plain(openApiDocument());
  expect(document).toMatchObject({
    openapi: "3.1.0",
    info: { version: "1.0.0" },
    servers: [{ url: "./v1", description: "This server" }],
    security: [{ apiKey: [] }],
    components: { securitySchemes: { apiKey: { type: "http", scheme: "bearer" } } },
  });
});

test("it has only values of JSON, so that a writer of YAML that rejects any other accepts it", () => {
  expect(openApiDocument()).toStrictEqual(plain(openApiDocument()));
});

test("it has the published operations, with their names, paths, tags and statuses", () => {
  const { paths } = plain(openApiDocument());
  const told = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, tags, responses }]) => [
      operationId,
      `${method} ${path}`,
      tags,
      Object.keys(responses),
    ]),
  );
  expect(told).toEqual([
    ["listOrders", "get /store/orders", ["orders"], ["200", "401", "429", "500", "503"]],
    [
      "cancelOrder",
      "delete /store/orders/{orderId}",
      ["orders"],
      ["204", "401", "404", "409", "429", "500", "503"],
    ],
    ["getPet", "get /pets/{petId}", ["pets"], ["200", "401", "404", "410", "429", "500", "503"]],
  ]);
});

test("a conflict is described with its codes, which tell one from another, and another failure without", () => {
  const responses = openApiDocument() as unknown as {
    readonly paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
  };
  const cancel = responses.paths["/store/orders/{orderId}"]?.["delete"]?.responses;
  const { order_already_shipped: shipped, order_already_cancelled: cancelled } = ERRORS;
  expect(cancel?.["409"]?.description).toBe(
    `\`order_already_shipped\`: ${shipped.message} \`order_already_cancelled\`: ${cancelled.message}`,
  );
  expect(cancel?.["404"]?.description).toBe(ERRORS.order_not_found.message);
});

test("the try-it panel of listOrders is disabled, and getPet is deprecated", () => {
  const { paths } = plain(openApiDocument());
  expect(paths["/store/orders"]?.["get"]).toMatchObject({ "x-try-it-out": false });
  expect(paths["/store/orders/{orderId}"]?.["delete"]).not.toHaveProperty("x-try-it-out");
  expect(paths["/pets/{petId}"]?.["get"]).toMatchObject({
    deprecated: true,
    "x-sunset": "2027-06-01T00:00:00Z",
  });
});

test("listOrders is beta, because v2 will change it, and an operation without a marker is stable", () => {
  const { paths } = plain(openApiDocument());
  const markers = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map((operation) => [operation.operationId, operation["x-stability"]]),
  );
  expect(markers).toEqual([
    ["listOrders", "beta"],
    ["cancelOrder", undefined],
    ["getPet", undefined],
  ]);
});

test("the served document has what the specification declares: 409 without a schema, and 429 on every operation", async () => {
  const { send } = await createHandlerFixture();
  const document = JSON.parse((await send("GET", "/openapi.json")).text);
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(document.info.version).toBe("1.0.0");
  expect(document.components.securitySchemes.apiKey).toMatchObject({ type: "http", scheme: "bearer" });
  const error = { $ref: "#/components/schemas/Error" };
  for (const methods of Object.values((document as Document).paths)) {
    for (const { responses } of Object.values(methods)) {
      expect(responses["429"]?.content?.["application/json"]?.schema).toEqual(error);
      for (const [status, { content }] of Object.entries(responses)) {
        if (status === "409" || status === "204") expect(content, status).toBeUndefined();
        else if (Number(status) >= 400) expect(content?.["application/json"]?.schema, status).toEqual(error);
      }
    }
  }
  expect(Object.keys(document.paths["/store/orders/{orderId}"].delete.responses)).toContain("409");
});

test("every response has the rate-limit headers, a 429 and a 503 have Retry-After, and every error but 409 has the Error body with examples", () => {
  const { paths } = plain(openApiDocument());
  for (const methods of Object.values(paths)) {
    for (const { responses } of Object.values(methods)) {
      for (const [status, { headers, content }] of Object.entries(responses)) {
        expect(Object.keys(headers)).toEqual(
          expect.arrayContaining(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]),
        );
        expect("Retry-After" in headers).toBe(status === "429" || status === "503");
        if (Number(status) < 400 || status === "409") continue;
        const examples = Object.entries(content?.["application/json"].examples ?? {});
        expect(examples.length).toBeGreaterThan(0);
        for (const [code, { value }] of examples) {
          expect(value).toEqual({ code, ...ERRORS[code as keyof typeof ERRORS] });
        }
      }
    }
  }
});

test("the description has a table of the errors that any request can get", () => {
  const { description } = plain(openApiDocument()).info;
  const [head, , ...rows] = description.split("## Errors")[1]?.match(/^\|.*$/gm) ?? [];
  expect(head).toMatch(/^\| Status +\| Code +\| Meaning +\|$/);
  for (const row of rows) {
    const [, status, code, message] = /^\| (\d+) +\| `(\w+)` +\| (.+?) +\|$/.exec(row) ?? [];
    expect(ERRORS[code as keyof typeof ERRORS], row).toMatchObject({ status: Number(status), message });
  }
  expect(rows.length).toBeGreaterThan(3);
});

test("every reference in the document resolves", () => {
  const document = plain(openApiDocument());
  for (const [, path] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    expect(
      path?.split("/").reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document),
      path,
    ).toBeDefined();
  }
});

test("every error code appears in the document", () => {
  const { info, paths } = JSON.parse(JSON.stringify(openApiDocument()));
  const told = JSON.stringify(paths) + info.description;
  // No operation of the API fulfils an order.
  const answered = Object.keys(ERRORS).filter((code) => code !== "order_not_shipped");
  expect(answered.filter((code) => !told.includes(code))).toEqual([]);
});

test("the description lists the limits of every plan", () => {
  const { info } = JSON.parse(JSON.stringify(openApiDocument()));
  expect(info.description).toContain("| free | 60 | 1000 |");
  expect(info.description).toContain("| enterprise | custom | custom |");
});

test("every successful response has examples, and every field, header and parameter has a description", () => {
  const { paths, components } = JSON.parse(JSON.stringify(openApiDocument()));
  for (const methods of Object.values<object>(paths)) {
    for (const { responses, parameters = [] } of Object.values(methods)) {
      const content = responses[200]?.content?.["application/json"];
      if (content !== undefined) expect(Object.keys(content.examples).length).toBeGreaterThan(0);
      for (const parameter of parameters) expect(parameter).toMatchObject({ description: expect.anything() });
    }
  }
  for (const { description, properties = {} } of Object.values<Record<string, object>>(components.schemas)) {
    expect(description).toBeTruthy();
    for (const property of Object.values(properties))
      expect(property).toMatchObject({ description: expect.anything(), examples: [expect.anything()] });
  }
  for (const header of Object.values(components.headers))
    expect(header).toMatchObject({ description: expect.anything(), example: expect.anything() });
});

test("the descriptions state stability and deprecation in words", () => {
  const operations = OPERATIONS.map((operation) => ({ ...operation, stability: "beta" as const }));
  const { paths } = JSON.parse(JSON.stringify(openApiDocument({ operations })));
  expect(paths["/store/orders"].get.description).toContain("This operation is beta");
  expect(paths["/pets/{petId}"].get.description).toContain(
    "Deprecated since 2026-06-01. From 2027-06-01 on it returns 410.",
  );
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
])(
  "%s %s (%s): the response %i has every header that the document promises",
  async (method, path, id, status) => {
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
  },
);

test("/openapi.json is served without a key and without rate-limit headers, this server first", async () => {
  const { send } = await createHandlerFixture();
  const { status, text, headers } = await send("GET", "/openapi.json", { authorization: "" });
  expect(status).toBe(200);
  expect(headers.get("x-ratelimit-limit")).toBeNull();
  expect(JSON.parse(text).servers[0]).toEqual({ url: "./v1", description: "This server" });
});
