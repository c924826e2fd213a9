import { BASE_PATH, type Operation } from "./operations.ts";
import type { ErrorReply } from "./reply.ts";

/** The operation for a method and a path, or the error if there is none. */
export type Route =
  | {
      readonly error?: undefined;
      readonly operation: Operation;
      /** The decoded parameters, in the order of the path. */
      readonly values: readonly string[];
    }
  | ErrorReply;

/** `TRACE` and `CONNECT` are missing, which a `Request` cannot have. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * True for a method that can be allowed or not allowed at a path; any other gets 501. Methods are case-sensitive (RFC
 * 9110, section 9.1).
 */
export function isImplementedMethod(method: string): boolean {
  return METHODS.has(method);
}

/** Creates a function that finds the operation for a method and a path. A path must match exactly. */
export function createRouter(operations: readonly Operation[]): (method: string, path: string) => Route {
  const routes = operations.map((operation) => ({ operation, pattern: toPattern(operation.path) }));

  return (method, path) => {
    const samePath: Operation[] = [];
    for (const { operation, pattern } of routes) {
      const match = pattern.exec(path);
      if (match === null) continue;
      if (operation.method === method || (operation.method === "GET" && method === "HEAD")) {
        return { operation, values: match.length === 1 ? NO_VALUES : match.slice(1).map(decode) };
      }
      samePath.push(operation);
    }
    if (samePath.length === 0) return { error: "route_not_found" };
    const allow = samePath.flatMap((operation) =>
      operation.method === "GET" ? ["GET", "HEAD"] : [operation.method],
    );
    return { error: "method_not_allowed", headers: { allow: allow.join(", ") } };
  };
}

const NO_VALUES: readonly string[] = [];

function toPattern(path: string): RegExp {
  const literal = path.replaceAll(".", "\\.");
  return new RegExp(`^${BASE_PATH}${literal.replaceAll(/\{\w+\}/g, "([^/]+)")}$`);
}

/** Decodes a segment. One with invalid escapes is returned unchanged; it names no resource. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
