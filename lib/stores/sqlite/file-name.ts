import { resolve } from "node:path";

/**
 * The name by which SQLite opens the file at a path. It is absolute, because SQLite reads a name that begins with
 * `file:` as a URI: it would open another file than the one that is created, protected and watched here.
 */
export function toFileName(path: string): string {
  return path === ":memory:" ? path : resolve(path);
}
