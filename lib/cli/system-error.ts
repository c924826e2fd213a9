/** The code of a system error, such as `ENOENT`. */
export function systemErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? `${error.code}` : "unknown";
}
