import { constants, type FileHandle, open, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type FileContent, readTextFile } from "./read-file.ts";

/** What became of a replacement. Unless it is `ok`, the file is as it was. */
export type Replacement =
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
