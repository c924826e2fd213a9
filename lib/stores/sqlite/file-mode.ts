import { chmodSync, statSync } from "node:fs";

/**
 * Removes the access of other users to a database and its log files: a copy or a restored backup is often readable by
 * everyone. Does nothing if another user owns the file.
 */
export function restrictAccess(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined || (stats.mode & 0o077) === 0) continue;
    try {
      chmodSync(file, stats.mode & 0o700);
    } catch {}
  }
}
