import { InvalidInputError } from "../errors.ts";

/**
 * Creates a function that returns a path without the base path, or an empty one, which is no route, for a path that is
 * not below it. Throws `InvalidInputError` if the base path is invalid.
 */
export function createBasePathRemover(basePath: string): (path: string) => string {
  const message = findBasePathProblem(basePath);
  if (message !== undefined) throw new InvalidInputError([{ path: "basePath", message }]);
  if (basePath === "") return (path) => path;
  return (path) => (path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : "");
}

/** Returns how to fix a base path. `undefined` if it is valid; an empty one means the root. */
export function findBasePathProblem(basePath: string): string | undefined {
  const isValid = basePath === "" || (SEGMENTS.test(basePath) && !DOT_SEGMENT.test(basePath));
  return isValid
    ? undefined
    : "Use a path such as /shop: with a leading slash, without a trailing one, and with letters, digits and '-._~' only.";
}

const SEGMENTS = /^(?:\/[A-Za-z0-9._~-]+)+$/;
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/;
