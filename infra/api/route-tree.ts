import { BASE_PATH, OPERATIONS, type Operation } from "../../lib/http/operations.ts";
import type { FunctionRole } from "../functions/permissions.ts";

/** A resource of the REST API: one path segment with its methods. */
export interface RouteNode {
  /** Unique; part of logical names: `v1-store`, `v1-store-rest`. */
  readonly key: string;
  readonly path: string;
  /** The key of the parent; missing for the root, which every API has. */
  readonly parent?: string;
  /** The path segment; `{proxy+}` matches every path below the parent. */
  readonly segment: string;
  readonly methods: readonly RouteMethod[];
}

/** A method of a resource and the function that handles it. */
export interface RouteMethod {
  readonly method: "ANY" | Operation["method"];
  readonly target: FunctionRole;
}

/** The streamed operation. The others are short, and responses without a body do not work with streaming. */
const STREAMED: (typeof OPERATIONS)[number]["id"] = "listOrders";

const PROXY = "{proxy+}";

/**
 * The resources by which every path and method reaches a function. A literal segment takes precedence over the wildcard
 * beside it and never falls back to it, so there is a wildcard below every literal segment.
 */
export function routeTree(operations: readonly Operation[] = OPERATIONS): readonly RouteNode[] {
  const streamed = operations.filter(({ id }) => id === STREAMED);
  const paths = new Set(["/"]);
  for (const { path } of streamed) for (const prefix of prefixesOf(`${BASE_PATH}${path}`)) paths.add(prefix);
  return [...paths].flatMap((path) => {
    const here = streamed.filter((operation) => `${BASE_PATH}${operation.path}` === path);
    const methods = [
      { method: "ANY", target: "api" } as const,
      ...here.map(({ method }) => ({ method, target: "list" }) as const),
    ];
    return [literalNode(path, methods), proxyNode(path)];
  });
}

function literalNode(path: string, methods: readonly RouteMethod[]): RouteNode {
  const above = path.slice(0, path.lastIndexOf("/"));
  const segment = path.slice(path.lastIndexOf("/") + 1);
  return { key: keyOf(path), path, segment, methods, ...(path === "/" ? {} : { parent: keyOf(above) }) };
}

function proxyNode(below: string): RouteNode {
  const path = below === "/" ? `/${PROXY}` : `${below}/${PROXY}`;
  const methods = [{ method: "ANY", target: "api" }] as const;
  return { key: `${keyOf(below)}-rest`, path, parent: keyOf(below), segment: PROXY, methods };
}

/** For `/v1/store`: `/v1` and `/v1/store`. */
function prefixesOf(path: string): readonly string[] {
  const segments = path.split("/").slice(1);
  return segments.map((_, index) => `/${segments.slice(0, index + 1).join("/")}`);
}

function keyOf(path: string): string {
  return path === "/" || path === "" ? "root" : path.slice(1).replaceAll("/", "-");
}
