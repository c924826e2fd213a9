import { invalidInput } from "../core/errors.ts";
import { splitTarget } from "../core/request-target.ts";

/** Case-sensitive. Any other method but `TRACE` gets 501. A `Request` can have neither that nor `CONNECT`. */
export const IMPLEMENTED_METHODS: ReadonlySet<string> = new Set(
  "GET HEAD POST PUT PATCH DELETE OPTIONS QUERY".split(" "),
);

export const MAX_URL_CHARS = 8 * 1024;

export const OPENAPI_PATH = "/openapi.json";

export function targetOf(url: string): string {
  return splitTarget(url).path.replace(/#.*/s, "");
}

/** The path of a target, decoded as far as RFC 9110, 4.2.3 says. `undefined` if a proxy could read it as another path. */
export function parsePath(target: string): string | undefined {
  const end = target.indexOf("?");
  const path = end === -1 ? target : target.slice(0, end);
  if (FORBIDDEN.test(target) || path.includes("\\")) return undefined;
  return DOT_SEGMENT.test(path) ? undefined : decodeUnreserved(path);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it finds.
const FORBIDDEN = /[#\x00-\x1f\x7f]/;

/** A segment `.` or `..`, also for a server that decodes separators. */
const DOT_SEGMENT = /(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|$)/i;

export function decodeUnreserved(path: string): string {
  // Every other escape is escaped once more. Without a function per escape: a path can have 2,700 of them.
  return UNRESERVED.test(path) ? decodeURIComponent(path.replaceAll(OTHER_ESCAPE, "%25")) : path;
}

const UNRESERVED = /%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i;
const OTHER_ESCAPE = new RegExp(UNRESERVED.source.replace("(?:", "(?!"), "gi");

/** Removes the base path from a path; one that is not below it becomes empty, which is no route. */
export function createBasePathRemover(basePath: string): (path: string) => string {
  const message = findBasePathProblem(basePath);
  if (message !== undefined) throw invalidInput("basePath", message);
  return (path) => (path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : "");
}

export function findBasePathProblem(basePath: string): string | undefined {
  const isValid =
    basePath === "" || (BASE_PATH_SEGMENTS.test(basePath) && !/\/\.{1,2}(?:\/|$)/.test(basePath));
  return isValid
    ? undefined
    : "Use a path such as /shop: with a leading slash, without a trailing one, and with letters, digits and '-._~' only.";
}

const BASE_PATH_SEGMENTS = /^(?:\/[A-Za-z0-9._~-]+)+$/;
