import { BASE_PATH, type Operation } from "./operations.ts";

/** What a method and a path lead to. */
export type Route =
  | { readonly operation: Operation; readonly argument: string | undefined }
  | { readonly error: "route_not_found" }
  | { readonly error: "method_not_allowed"; readonly headers: { readonly allow: string } };

/** Makes a function that finds the operation for a method and a path. Paths match exactly: no slash more or less. */
export function createRouter(operations: readonly Operation[]): (method: string, path: string) => Route {
  const routes = operations.map((operation) => ({ operation, pattern: patternOf(operation.path) }));

  return (method, path) => {
    const there: Operation[] = [];
    for (const { operation, pattern } of routes) {
      const match = pattern.exec(path);
      if (match === null) continue;
      if (operation.method === method || (operation.method === "GET" && method === "HEAD")) {
        return { operation, argument: match[1] === undefined ? undefined : decoded(match[1]) };
      }
      there.push(operation);
    }
    if (there.length === 0) return { error: "route_not_found" };
    const allow = there.flatMap((operation) =>
      operation.method === "GET" ? ["GET", "HEAD"] : [operation.method],
    );
    return { error: "method_not_allowed", headers: { allow: allow.join(", ") } };
  };
}

/** Path and query of an absolute URL, as they were sent. */
export function targetOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  return start === -1 ? "/" : url.slice(start);
}

/** The path of an absolute URL, as it was sent. */
export function pathOf(url: string): string {
  const target = targetOf(url);
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${BASE_PATH}${path.replace(/\{\w+\}/, "([^/]+)")}$`);
}

/** A segment with bad escapes stands for itself; it names no resource either way. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
