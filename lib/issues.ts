import type { Issue } from "./errors.ts";

/** The part of a schema error (zod) that an `Issue` is made from, so that this file needs no schema library. */
export interface SchemaIssue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** The unknown keys of an `unrecognized_keys` error. */
  readonly keys?: readonly string[];
}

/**
 * Converts a schema error to issues, one for each unknown key. `keysAt` returns the keys that are allowed at a path;
 * they are named in the message.
 */
export function toIssues(
  { code, path, message, keys = [] }: SchemaIssue,
  keysAt: (path: readonly PropertyKey[]) => readonly string[],
): readonly Issue[] {
  if (code !== "unrecognized_keys") return [{ path: formatPath(path), message }];
  const allowed = keysAt(path);
  const fix = allowed.length === 0 ? "Remove it." : `Remove it, or use one of: ${allowed.join(", ")}.`;
  return keys.map((key) => ({ path: formatPath([...path, key]), message: `Unknown key. ${fix}` }));
}

/** Writes a path as people do: `domains.redirects[0].from`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}
