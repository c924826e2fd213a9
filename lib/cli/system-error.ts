/** Says why a file cannot be read or written. */
export function explainFileError(error: unknown, verb: "read" | "written"): string {
  const code = systemErrorCode(error);
  switch (code) {
    case "ENOENT":
      return `${verb === "read" ? "The file" : "The folder of the file"} does not exist (${code}).`;
    case "EACCES":
    case "EPERM":
      return `You have no permission: the file cannot be ${verb} (${code}).`;
    case "EISDIR":
      return `This is a directory; name a file (${code}).`;
    default:
      return `The file cannot be ${verb} (${code}).`;
  }
}

/** The code of a system error, such as `ENOENT`. */
export function systemErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? `${error.code}` : "unknown";
}
