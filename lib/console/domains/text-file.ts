/** Text files that others edit too: read in bounded time, and replaced at once. */
import { createHash } from "node:crypto";
import { constants, type FileHandle, open, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** The content of a file at one time. */
export interface FileContent {
  /** The file itself, behind symbolic links. */
  readonly realPath: string;
  readonly text: string;
  /** Differs if the content does, or if a link leads elsewhere. */
  readonly version: string;
}

/** The content, or the reason why it cannot be read. */
type ReadFile =
  | { readonly ok: true; readonly content: FileContent }
  | { readonly ok: false; readonly code: "unreadable"; readonly message: string };

/** More than the domains of a project need. A file that is wrong everywhere takes longest, and must not stop the console for long. */
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

/** The result of a replacement. Unless it is `ok`, the file is as it was. */
type Replacement =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: "file_changed" | "not_written"; readonly message: string };

const CHANGED: Replacement = {
  ok: false,
  code: "file_changed",
  message: "Somebody else has changed the file meanwhile, so nothing was written. Look at it and try again.",
};

/**
 * Replaces a file, unless it has changed since it was read: whoever reads it sees the old or the new content, also after
 * a power failure. Mode and owner stay, and so does a symbolic link that leads to it. The new content is first in a file
 * beside it, whose fixed name admits one writer at a time.
 */
export async function replaceFile(path: string, before: FileContent, text: string): Promise<Replacement> {
  const { realPath } = before;
  const next = join(dirname(realPath), `.${basename(realPath)}.next`);
  let file: FileHandle | undefined;
  try {
    file = await createAlone(next);
    if (file === undefined) return notWritten(`${next} exists. If no console is writing, delete it.`);
    await keepOwnerAndMode(file, realPath);
    await file.writeFile(text);
    await file.sync();
    const now = await readTextFile(path);
    if (!now.ok || now.content.version !== before.version) return CHANGED;
    await rename(next, realPath);
    await file.close();
    file = undefined;
    await syncDirectory(dirname(realPath));
    return { ok: true };
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return notWritten(`The file cannot be replaced (${code}). The console needs to write in its directory.`);
  } finally {
    if (file !== undefined) {
      await file.close();
      await unlink(next).catch(() => {});
    }
  }
}

const ATTEMPTS = 40;
const PAUSE_MS = 50;

/** Creates a file that does not exist, also not as a link. Waits for another writer, but not for long. */
async function createAlone(path: string): Promise<FileHandle | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      return await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      await wait(PAUSE_MS);
    }
  }
  return undefined;
}

async function keepOwnerAndMode(file: FileHandle, path: string): Promise<void> {
  const { uid, gid, mode } = await stat(path);
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
  await file.chmod(mode & 0o7777);
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, constants.O_RDONLY);
  await directory.sync();
}

function notWritten(message: string): Replacement {
  return { ok: false, code: "not_written", message };
}
