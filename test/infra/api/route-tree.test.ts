import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gatewayResponses } from "../../../infra/api/gateway-responses.ts";
import { type RouteNode, routeTree } from "../../../infra/api/route-tree.ts";
import { OPERATIONS } from "../../../lib/http/operations.ts";

const tree = routeTree();

/** Finds a request's function as the gateway does: a literal segment hides the wildcard beside it, for good. */
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
  return (here.find((each) => each.method === method) ?? here.find((each) => each.method === "ANY"))?.to;
}

describe("the tree", () => {
  test("is this one", () => {
    const lines = tree.map(
      ({ path, methods }) => `${path}: ${methods.map(({ method, to }) => `${method} ${to}`).join(", ")}`,
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

  test("streams the list, and nothing beside it", () => {
    expect(functionFor("GET", "/v1/store/orders")).toBe("list");
    for (const method of ["HEAD", "POST", "DELETE", "OPTIONS"])
      expect(functionFor(method, "/v1/store/orders")).toBe("api");
    for (const path of ["/v1/store/orders/1", "/v1/store", "/store/orders"]) {
      expect(functionFor("GET", path)).toBe("api");
    }
  });

  test("leads every path and every method to a function", () => {
    const segment = fc.oneof(fc.constantFrom("v1", "store", "orders", "pets"), fc.string({ minLength: 1 }));
    const path = fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join("/")}`);
    fc.assert(
      fc.property(
        fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
        path,
        (method, at) => {
          const to = functionFor(method, at);
          return to === "api" || to === "list";
        },
      ),
    );
  });

  test("has no two nodes of one name, and every parent before its children", () => {
    const keys = tree.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    for (const [index, { parent }] of tree.entries()) {
      if (parent !== undefined) expect(keys.slice(0, index)).toContain(parent);
    }
  });

  test("follows the operations: without a streamed one there is nothing to tell apart", () => {
    const buffered = routeTree(OPERATIONS.filter(({ id }) => id !== "listOrders"));
    expect(buffered.map(({ path }) => path)).toEqual(["/", "/{proxy+}"]);
  });
});

describe("what the gateway answers by itself", () => {
  test("has an Error body whose status is the one that is sent", () => {
    for (const { body, status } of gatewayResponses()) {
      const { code, message, ...rest } = JSON.parse(body);
      expect(rest).toEqual({ status });
      expect(code).toMatch(/^[a-z]+(_[a-z]+)+$|^forbidden$/);
      expect(message).not.toBe("");
    }
  });

  test("is text that the gateway's templates leave as it is", () => {
    for (const { body } of gatewayResponses()) expect(body).not.toMatch(/[$#]/);
  });

  test("tells a throttled client how long to wait", () => {
    const throttled = gatewayResponses().filter(({ status }) => status === 429);
    expect(throttled.map(({ headers }) => headers["Retry-After"])).toEqual(["1", "1"]);
  });
});
