import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import type { Instant } from "../clock.ts";
import {
  ATTENTION_REASONS,
  DOMAIN_STATES,
  type DomainState,
  VALIDATION_TIMEOUT_MS,
} from "../domains/lifecycle.ts";
import type { WatchState } from "../domains/watch/watch.ts";
import { invalidInput } from "../errors.ts";
import { createFolder } from "../stores/sqlite/create-folder.ts";
import { explainFileError, systemErrorCode } from "./system-error.ts";

const instant = z.int().nonnegative();

const entrySchema = z.strictObject({
  host: z.string(),
  state: z.enum(DOMAIN_STATES as [DomainState, ...DomainState[]]),
  since: instant,
  verifiedAt: instant.exactOptional(),
  attention: z.enum(ATTENTION_REASONS).exactOptional(),
  observedAt: instant,
});

const fileSchema = z.strictObject({ watchedDomains: z.array(entrySchema) });

type Entry = z.output<typeof entrySchema>;

/** The state of earlier watches. A watch of other hosts keeps what the file has about the rest. */
export interface WatchStateFile {
  /** What an earlier watch has observed within the last 72 hours: later it says nothing about a host any more. */
  readonly earlier: WatchState;
  save(state: WatchState, at: Instant): void;
}

const OTHER_PATH = "Give another path for the state with --state.";

/** Opens a state file. A missing file is empty. Throws an `InvalidInputError` if the file cannot be used. */
export function openWatchState(path: string, at: Instant): WatchStateFile {
  const entries = readEntries(path).filter(({ observedAt }) => at - observedAt < VALIDATION_TIMEOUT_MS);
  const file: WatchStateFile = {
    earlier: new Map(entries.map(({ observedAt, ...domain }) => [domain.host, domain])),
    save(state, observedAt) {
      const others = entries.filter(({ host }) => !state.has(host));
      const own = [...state.values()].map((domain): Entry => ({ ...domain, observedAt }));
      writeEntries(path, [...others, ...own]);
    },
  };
  // A path that cannot be written is reported at once, and not after hours of waiting.
  writeEntries(path, entries);
  return file;
}

function readEntries(path: string): readonly Entry[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return [];
    throw invalidInput(path, `${explainFileError(error, "read")} ${OTHER_PATH}`);
  }
  const parsed = fileSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data.watchedDomains;
  throw invalidInput(
    path,
    "This is not the state of a watch. Give another path with --state, or delete the file.",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Replaces the file, so that an interruption leaves the old or the new content. */
function writeEntries(path: string, watchedDomains: readonly Entry[]): void {
  // No other file has this name, so none is lost.
  const next = `${path}.${randomUUID()}.next`;
  try {
    createFolder(dirname(path));
    writeFileSync(next, `${JSON.stringify({ watchedDomains }, null, 2)}\n`, { flag: "wx" });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw invalidInput(path, `${explainFileError(error, "written")} ${OTHER_PATH}`);
  }
}
