import { BASE_PATH, OPERATIONS, type Operation } from "../../lib/http/operations.ts";
import type { FunctionRole } from "../functions/permissions.ts";

/** A resource of the REST API: one segment of a path, with the methods that answer there. */
export interface RouteNode {
  /** Names it among the others, and in logical names: `v1-store`, `v1-store-rest`. */
  readonly key: string;
  readonly path: string;
  /** The node above; absent for the root, which every API has. */
  readonly parent?: string;
  /** The segment itself, `{proxy+}` for every path below. */
  readonly segment: string;
  readonly methods: readonly RouteMethod[];
}

/** A method of a resource, and the function behind it. */
export interface RouteMethod {
  readonly method: "ANY" | Operation["method"];
  readonly to: FunctionRole;
}

/** The operation whose answer is streamed. Everything else is short, and may have no body, which breaks a stream. */
const STREAMED: (typeof OPERATIONS)[number]["id"] = "listOrders";

const REST = "{proxy+}";

/**
 * The tree by which every path and every method reaches a function. A literal segment hides the wildcard beside it,
 * so there is a wildcard below every literal one.
 */
export function routeTree(operations: readonly Operation[] = OPERATIONS): readonly RouteNode[] {
  const streamed = operations.filter(({ id }) => id === STREAMED);
  const paths = new Set(["/"]);
  for (const { path } of streamed) for (const prefix of prefixesOf(`${BASE_PATH}${path}`)) paths.add(prefix);
  return [...paths].flatMap((path) => {
    const here = streamed.filter((operation) => `${BASE_PATH}${operation.path}` === path);
    const methods = [
      { method: "ANY", to: "api" } as const,
      ...here.map(({ method }) => ({ method, to: "list" }) as const),
    ];
    return [literalNode(path, methods), restNode(path)];
  });
}

function literalNode(path: string, methods: readonly RouteMethod[]): RouteNode {
  const above = path.slice(0, path.lastIndexOf("/"));
  const segment = path.slice(path.lastIndexOf("/") + 1);
  return { key: keyOf(path), path, segment, methods, ...(path === "/" ? {} : { parent: keyOf(above) }) };
}

function restNode(below: string): RouteNode {
  const path = below === "/" ? `/${REST}` : `${below}/${REST}`;
  const methods = [{ method: "ANY", to: "api" }] as const;
  return { key: `${keyOf(below)}-rest`, path, parent: keyOf(below), segment: REST, methods };
}

/** `/v1/store` gives `/v1` and `/v1/store`. */
function prefixesOf(path: string): readonly string[] {
  const segments = path.split("/").slice(1);
  return segments.map((_, index) => `/${segments.slice(0, index + 1).join("/")}`);
}

function keyOf(path: string): string {
  return path === "/" || path === "" ? "root" : path.slice(1).replaceAll("/", "-");
}
