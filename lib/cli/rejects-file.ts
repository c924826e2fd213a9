import { type FileHandle, open, stat } from "node:fs/promises";
import { invalidInput } from "../errors.ts";
import type { RejectedLine } from "../orders/import.ts";
import type { StoreChoice } from "./settings.ts";
import { explainFileError } from "./system-error.ts";

/** Where rejected lines are written. */
export interface Rejects extends AsyncDisposable {
  write(lines: readonly RejectedLine[]): Promise<void>;
}

/** A file that must not be overwritten. */
interface FileInUse {
  readonly identity: string | undefined;
  readonly what: string;
}

/** The files of an embedded database. */
export async function databaseFiles(choice: StoreChoice): Promise<readonly FileInUse[]> {
  if (choice.kind !== "sqlite") return [];
  const paths = ["", "-wal", "-shm"].map((suffix) => `${choice.path}${suffix}`);
  return Promise.all(paths.map(async (path) => ({ identity: await identityOf(path), what: "the database" })));
}

async function identityOf(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats && `${stats.dev}:${stats.ino}`;
}

/** Opens the file for rejected lines. Throws an `InvalidInputError` if it is in use or cannot be written. */
export async function openRejects(file: string | undefined, inUse: readonly FileInUse[]): Promise<Rejects> {
  if (file === undefined) return { write: async () => {}, [Symbol.asyncDispose]: async () => {} };
  const existing = await identityOf(file);
  const conflict = inUse.find(({ identity }) => existing !== undefined && identity === existing);
  if (conflict !== undefined)
    throw invalidInput("--rejects", `This is ${conflict.what}; name a different one.`);
  const handle = await openFile(file, "w");
  await restrictAccess(handle);
  return {
    async write(lines) {
      if (lines.length === 0) return;
      const parts = lines.flatMap(({ content, complete }) => [
        typeof content === "string" ? Buffer.from(content) : content,
        Buffer.from(complete ? "\n" : ""),
      ]);
      await handle.appendFile(Buffer.concat(parts));
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Rejected lines are customers' data, which other users must not read. */
const PRIVATE_FILE_MODE = 0o600;

/** Opens a file. Throws an `InvalidInputError` if that fails. */
export async function openFile(file: string, flags: "r" | "w"): Promise<FileHandle> {
  try {
    return await open(file, flags, PRIVATE_FILE_MODE);
  } catch (error) {
    throw invalidInput(file, explainFileError(error, flags === "r" ? "read" : "written"));
  }
}

/** Makes a file that existed before private too. Does nothing to a device, a pipe, or the file of another user. */
async function restrictAccess(handle: FileHandle): Promise<void> {
  const stats = await handle.stat();
  if (stats.isFile() && (stats.mode & 0o077) !== 0) await handle.chmod(PRIVATE_FILE_MODE).catch(() => {});
}
