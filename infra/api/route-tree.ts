import { API_VERSION_PATH, OPERATIONS, type Operation } from "../../lib/http/operations.ts";
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
  /** The methods, each with the function that handles it. */
  readonly methods: readonly {
    readonly method: "ANY" | Operation["method"];
    readonly target: FunctionRole;
  }[];
}

/** The streamed operation. The others are short, and responses without a body do not work with streaming. */
const STREAMED: (typeof OPERATIONS)[number]["id"] = "listOrders";

const PROXY = "{proxy+}";
const EVERY_METHOD = { method: "ANY", target: "api" } as const;

/**
 * The resources by which every path and method reaches a function. A literal segment takes precedence over the wildcard
 * beside it and never falls back to it, so there is a wildcard below every literal segment.
 */
export function routeTree(
  operations: readonly Operation[] = OPERATIONS,
  basePath = "",
): readonly RouteNode[] {
  const streamed = operations.find(({ id }) => id === STREAMED);
  const segments =
    streamed === undefined ? [] : `${basePath}${API_VERSION_PATH}${streamed.path}`.split("/").slice(1);
  // With a path of somebody's choice, a name must not look like one of ours.
  const keyOf = (names: readonly string[]) =>
    names.length === 0 ? "root" : basePath === "" ? names.join("-") : `in.${names.join(".")}`;
  return ["", ...segments].flatMap((segment, depth): readonly RouteNode[] => {
    const names = segments.slice(0, depth);
    const path = names.map((name) => `/${name}`).join("");
    const key = keyOf(names);
    const parent = depth === 0 ? {} : { parent: keyOf(names.slice(0, -1)) };
    const isStreamed = streamed !== undefined && depth === segments.length;
    const own = isStreamed ? [{ method: streamed.method, target: "list" } as const] : [];
    return [
      { key, path: path || "/", segment, methods: [EVERY_METHOD, ...own], ...parent },
      { key: `${key}-rest`, path: `${path}/${PROXY}`, parent: key, segment: PROXY, methods: [EVERY_METHOD] },
    ];
  });
}
