import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder, and the missing ones above it. Throws the error of the system for the first that cannot be created.
 *
 * Node's `mkdirSync` with `recursive` never returns below `/proc`, where Linux says of a new folder that its parent is
 * missing.
 */
export function createFolder(path: string, mode = 0o777): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  // The root of a drive that does not exist is its own parent.
  if (parent !== path) createFolder(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process can have created it.
    if (!existsSync(path)) throw error;
  }
}
