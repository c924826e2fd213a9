/**
 * For `test.skipIf()` and `describe.skipIf()`: true if there is a reason to skip these tests, which is then printed. A
 * skipped test would otherwise look like one that passed.
 */
export function skipsBecause(tests: string, reason: string | undefined): boolean {
  if (reason === undefined) return false;
  process.stderr.write(`${tests}: skipped, because ${reason}\n`);
  return true;
}

/** The reason to skip tests of POSIX file modes and signals, if this is Windows. */
export const noPosix: string | undefined =
  process.platform === "win32" ? "Windows has no file modes and no signals" : undefined;

/** The reason to skip tests that need two users, unless this is root. */
export const notRoot: string | undefined =
  process.getuid?.() === 0 ? undefined : "only root can run programs as another user";
