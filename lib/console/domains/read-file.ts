import { createHash } from "node:crypto";
import { constants, open, realpath } from "node:fs/promises";

/** The content of a file at one time. */
export interface FileContent {
  /** The file itself, behind symbolic links. */
  readonly realPath: string;
  readonly text: string;
  /** Differs if the content does, or if a link leads elsewhere. */
  readonly version: string;
}

/** The content, or why it cannot be read. */
export type ReadFile =
  | { readonly ok: true; readonly content: FileContent }
  | { readonly ok: false; readonly code: "unreadable"; readonly message: string };

/** About ten thousand hosts. A file that is wrong everywhere takes longest, and must not stop the console for long. */
const MAX_BYTES = 256 * 1024;

/** Reads a text file. Returns in bounded time: a pipe, a device and a huge file are not read. */
export async function readTextFile(path: string): Promise<ReadFile> {
  try {
    const realPath = await realpath(path);
    // Opening a named pipe would wait for its writer.
    await using file = await open(realPath, NON_BLOCKING);
    const { size } = await file.stat().then((stat) => (stat.isFile() ? stat : Promise.reject(NO_FILE)));
    if (size > MAX_BYTES) return unreadable("The file is larger than 256 KiB. Keep only the domains in it.");
    const bytes = await file.readFile();
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const version = createHash("sha256").update(`${realPath}\0`).update(bytes).digest("base64url");
    return { ok: true, content: { realPath, text, version } };
  } catch (error) {
    if (error === NO_FILE) return unreadable("This is not a file. Start the console with a domains file.");
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return unreadable("The file is not UTF-8 text.");
    if (code === "ENOENT") return unreadable("The file does not exist (ENOENT).");
    return unreadable(`The file cannot be read (${code}).`);
  }
}

const NON_BLOCKING = constants.O_RDONLY | constants.O_NONBLOCK;
const NO_FILE = Symbol("not a file");

function unreadable(message: string): ReadFile {
  return { ok: false, code: "unreadable", message };
}
