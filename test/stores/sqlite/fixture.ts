import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { ApiKey } from "../../../lib/accounts/account.ts";

export const AT = Date.UTC(2026, 10, 20, 12);
export const KEY: ApiKey = { id: "acme.1", hash: "1".repeat(64), createdAt: AT };
export const ACCOUNT = { id: "acme", plan: "free", keys: [KEY] } as const;
export const PRESENTED = { accountId: "acme", hash: KEY.hash };

/** Creates a directory that is deleted after the tests of a file. */
export function temporaryDirectory(): { readonly directory: string; newPath(): string } {
  const directory = mkdtempSync(join(tmpdir(), "store-orders-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  let databases = 0;
  return { directory, newPath: () => join(directory, `${databases++}.db`) };
}

/** The files that this process has open. None on systems that do not tell. */
export function openFiles(): readonly string[] {
  const folder = "/proc/self/fd";
  if (process.platform !== "linux") return [];
  return readdirSync(folder).map((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      return "closed meanwhile";
    }
  });
}
