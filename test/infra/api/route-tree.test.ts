import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gatewayResponses } from "../../../infra/api/gateway-responses.ts";
import { type RouteNode, routeTree } from "../../../infra/api/route-tree.ts";

const tree = routeTree();

function pathsOf(nodes: readonly RouteNode[]): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const { key, parent, segment } of nodes) {
    const above = parent === undefined ? "" : (paths.get(parent) ?? expect.fail(parent));
    paths.set(key, `${above === "/" ? "" : above}/${segment}`);
  }
  return paths;
}

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
    const paths = pathsOf(tree);
    const lines = tree.map(
      ({ key, methods }) =>
        `${paths.get(key)}: ${methods.map(({ method, target }) => `${method} ${target}`).join(", ")}`,
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
});

describe("the gateway responses", () => {
  const responses = gatewayResponses().map(({ statusCode, responseTemplates, responseParameters }) => ({
    status: Number(statusCode),
    body: responseTemplates["application/json"],
    headers: responseParameters,
  }));

  test("the body is an Error body with the status of the response", () => {
    for (const { body, status } of responses) {
      const { code, message, ...rest } = JSON.parse(body);
      expect(rest).toEqual({ status });
      expect(code).toMatch(/^[a-z]+(_[a-z]+)+$|^forbidden$/);
      expect(message).not.toBe("");
    }
  });

  test("the body contains no characters that are special in a mapping template", () => {
    for (const { body } of responses) expect(body).not.toMatch(/[$#]/);
  });

  test("every response has the identifier that its user reports, and is never cached", () => {
    for (const { headers } of responses)
      expect(headers).toMatchObject({
        "gatewayresponse.header.X-Request-Id": "context.requestId",
        "gatewayresponse.header.Cache-Control": "'no-store'",
      });
  });

  test("a client that is throttled or gets a 5xx is told when to retry, any other is not", () => {
    for (const { status, headers } of responses)
      expect(headers["gatewayresponse.header.Retry-After"], `${status}`).toBe(
        status === 429 || status >= 500 ? "'1'" : undefined,
      );
  });

  test("a 413 names no size, because a function accepts less than API Gateway", () => {
    const [tooLarge] = responses.filter(({ status }) => status === 413);
    expect(JSON.parse(tooLarge?.body ?? "{}").message).toBe(
      "The request is larger than the service accepts.",
    );
  });
});

test.each(["/shop", "/api/rest", "/root", "/v1/store", "/a-rest/rest", "/a.b/in"])(
  "below %s every node has a key of its own, and its parent is the node above it",
  (basePath) => {
    const tree = routeTree(basePath);
    const paths = pathsOf(tree);
    expect(paths.size).toBe(tree.length);
    const list = tree.find(({ methods }) => methods.length === 2);
    expect(paths.get(list?.key ?? "")).toBe(`${basePath}/v1/store/orders`);
    expect(new Set(paths.values()).size).toBe(tree.length);
  },
);
