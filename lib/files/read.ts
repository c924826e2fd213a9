/** Small files of text: settings, secrets. Read in bounded time and memory, whatever is at their paths. */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, statSync } from "node:fs";

export interface TextFile {
  readonly ok: true;
  /** The file itself, behind symbolic links. */
  readonly realPath: string;
  readonly text: string;
  /** Differs if the content does, or if a link leads elsewhere. */
  readonly version: string;
}

/** More than the domains of a project need. */
const MAX_BYTES = 256 * 1024;

/** Reads a file of UTF-8. A pipe, a device, a folder and a huge file are not read. */
export function readTextFile(
  path: string,
  maxBytes = MAX_BYTES,
): TextFile | { readonly ok: false; readonly message: string } {
  const fail = (message: string) => ({ ok: false, message }) as const;
  let file: number | undefined;
  try {
    // Opening a named pipe would wait for its writer.
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = fstatSync(file);
    if (!found.isFile()) return fail("This is not a file.");
    if (found.size > maxBytes) return fail(`The file is larger than ${maxBytes / 1024} KiB.`);
    const bytes = readFileSync(file);
    const realPath = realpathSync(path);
    const version = createHash("sha256").update(`${realPath}\0`).update(bytes).digest("base64url");
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { ok: true, realPath, text, version };
  } catch (error) {
    const isText = systemErrorCode(error) !== "ERR_ENCODING_INVALID_ENCODED_DATA";
    return fail(isText ? explainFileError(error, "read") : "The file is not UTF-8 text. Convert it.");
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

export function explainFileError(error: unknown, verb: "read" | "written"): string {
  const code = systemErrorCode(error);
  const denied = `You have no permission: the file cannot be ${verb}`;
  const isRead = verb === "read";
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: `${isRead ? "The file" : "The folder of the file"} does not exist`,
    EACCES: denied,
    EPERM: denied,
    ELOOP: isRead ? "Its symbolic links have no end" : "This is a link; name the file that it leads to",
    EISDIR: "This is a directory; name a file",
    ENOSPC: "The disk is full",
    EROFS: "The disk can only be read",
  };
  return `${reasons[code] ?? `The file cannot be ${verb}`} (${code}).`;
}

/** True if nothing is at a path. What else hides a file, such as a loop of links, its reader explains. */
export function isAbsent(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

export function systemErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? `${error.code}` : "unknown";
}
