import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gatewayResponses } from "../../../infra/api/gateway-responses.ts";
import { type RouteNode, routeTree } from "../../../infra/api/route-tree.ts";
import { OPERATIONS } from "../../../lib/http/operations.ts";

const tree = routeTree();

/** Matches a request as API Gateway does: a literal segment takes precedence over the wildcard beside it, for good. */
function functionFor(method: string, path: string): string | undefined {
  const segments = path.split("/").filter((segment) => segment !== "");
  let node = tree.find(({ parent }) => parent === undefined);
  for (const segment of segments) {
    const below: readonly RouteNode[] = tree.filter(({ parent }) => parent === node?.key);
    const literal = below.find((each) => each.segment === segment);
    if (literal === undefined) {
      node = below.find((each) => each.segment === "{proxy+}");
      break;
    }
    node = literal;
  }
  const here = node?.methods ?? [];
  return (here.find((each) => each.method === method) ?? here.find((each) => each.method === "ANY"))?.target;
}

describe("the route tree", () => {
  test("the route tree has a wildcard below every literal segment", () => {
    const lines = tree.map(
      ({ path, methods }) =>
        `${path}: ${methods.map(({ method, target }) => `${method} ${target}`).join(", ")}`,
    );
    expect(lines).toMatchInlineSnapshot(`
      [
        "/: ANY api",
        "/{proxy+}: ANY api",
        "/v1: ANY api",
        "/v1/{proxy+}: ANY api",
        "/v1/store: ANY api",
        "/v1/store/{proxy+}: ANY api",
        "/v1/store/orders: ANY api, GET list",
        "/v1/store/orders/{proxy+}: ANY api",
      ]
    `);
  });

  test("only GET of the list is streamed", () => {
    expect(functionFor("GET", "/v1/store/orders")).toBe("list");
    for (const method of ["HEAD", "POST", "DELETE", "OPTIONS"])
      expect(functionFor(method, "/v1/store/orders")).toBe("api");
    for (const path of ["/v1/store/orders/1", "/v1/store", "/store/orders", "/v2/store/orders"]) {
      expect(functionFor("GET", path)).toBe("api");
    }
  });

  test("every path and method reaches a function", () => {
    const segment = fc.oneof(fc.constantFrom("v1", "store", "orders", "pets"), fc.string({ minLength: 1 }));
    const path = fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join("/")}`);
    fc.assert(
      fc.property(
        fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
        path,
        (method, requestPath) => ["api", "list"].includes(functionFor(method, requestPath) ?? ""),
      ),
    );
  });

  test("keys are unique, and every parent precedes its children", () => {
    const keys = tree.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    for (const [index, { parent }] of tree.entries()) {
      if (parent !== undefined) expect(keys.slice(0, index)).toContain(parent);
    }
  });

  test("without a streamed operation only the root and its wildcard remain", () => {
    const buffered = routeTree(OPERATIONS.filter(({ id }) => id !== "listOrders"));
    expect(buffered.map(({ path }) => path)).toEqual(["/", "/{proxy+}"]);
  });
});

describe("the gateway responses", () => {
  test("the body is an Error body with the status of the response", () => {
    for (const { body, status } of gatewayResponses()) {
      const { code, message, ...rest } = JSON.parse(body);
      expect(rest).toEqual({ status });
      expect(code).toMatch(/^[a-z]+(_[a-z]+)+$|^forbidden$/);
      expect(message).not.toBe("");
    }
  });

  test("the body contains no characters that are special in a mapping template", () => {
    for (const { body } of gatewayResponses()) expect(body).not.toMatch(/[$#]/);
  });

  test("every response has the identifier that its user reports, and is never cached", () => {
    for (const { headers } of gatewayResponses())
      expect(headers).toMatchObject({ "X-Request-Id": "context.requestId", "Cache-Control": "'no-store'" });
  });

  test("a client that is throttled or gets a 5xx is told when to retry, any other is not", () => {
    for (const { status, headers } of gatewayResponses())
      expect(headers["Retry-After"], `${status}`).toBe(status === 429 || status >= 500 ? "'1'" : undefined);
  });

  test("a 413 names no size, because a function accepts less than API Gateway", () => {
    const [tooLarge] = gatewayResponses().filter(({ status }) => status === 413);
    expect(JSON.parse(tooLarge?.body ?? "{}").message).toBe(
      "The request is larger than the service accepts.",
    );
  });
});

test.each(["/shop", "/api/rest", "/root", "/v1/store", "/a-rest/rest", "/a.b/in"])(
  "below %s every node has a key of its own, and its parent is the node above it",
  (basePath) => {
    const tree = routeTree(undefined, basePath);
    const byKey = new Map(tree.map((node) => [node.key, node]));
    expect(byKey.size).toBe(tree.length);
    for (const { key, parent, path, segment } of tree.slice(1)) {
      const above = byKey.get(parent ?? "") ?? expect.fail(key);
      expect(path).toBe(`${above.path === "/" ? "" : above.path}/${segment}`);
    }
    expect(
      tree.some(({ path, methods }) => path === `${basePath}/v1/store/orders` && methods.length === 2),
    ).toBe(true);
  },
);
