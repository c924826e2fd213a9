import { API_VERSION_PATH, OPERATIONS } from "../../lib/http/operations.ts";
import type { FunctionRole } from "../functions/permissions.ts";

export interface RouteNode {
  /** Unique; part of logical names: `v1-store`, `v1-store-rest`. */
  readonly key: string;
  /** The key of the parent; missing for the root, which every API has. */
  readonly parent?: string;
  /** The path segment; `{proxy+}` matches every path below the parent. */
  readonly segment: string;
  readonly methods: readonly { readonly method: "ANY" | typeof LIST.method; readonly target: FunctionRole }[];
}

/** The streamed operation. The others are short, and responses without a body do not work with streaming. */
const [LIST] = OPERATIONS;

const PROXY = "{proxy+}";
const EVERY_METHOD = { method: "ANY", target: "api" } as const;

/**
 * The resources by which every path and method reaches a function. A literal segment takes precedence over the wildcard
 * beside it and never falls back to it, so there is a wildcard below every literal segment.
 */
export function routeTree(basePath = ""): readonly RouteNode[] {
  const segments = `${basePath}${API_VERSION_PATH}${LIST.path}`.split("/").slice(1);
  // With a path of somebody's choice, a name must not look like one of ours.
  const keyOf = (names: readonly string[]) =>
    names.length === 0 ? "root" : basePath === "" ? names.join("-") : `in.${names.join(".")}`;
  return ["", ...segments].flatMap((segment, depth): readonly RouteNode[] => {
    const names = segments.slice(0, depth);
    const key = keyOf(names);
    const parent = depth === 0 ? {} : { parent: keyOf(names.slice(0, -1)) };
    const own = depth === segments.length ? [{ method: LIST.method, target: "list" } as const] : [];
    return [
      { key, segment, methods: [EVERY_METHOD, ...own], ...parent },
      { key: `${key}-rest`, parent: key, segment: PROXY, methods: [EVERY_METHOD] },
    ];
  });
}
