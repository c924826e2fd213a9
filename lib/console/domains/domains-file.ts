import type { DomainMapping } from "../../domains/mapping.ts";
import type { Issue } from "../../errors.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import { changeDomains } from "./change-domains.ts";
import type { DomainChange } from "./edit-document.ts";
import { type FileProblem, parseFile } from "./parse-file.ts";
import { type FileContent, readTextFile } from "./read-file.ts";
import { replaceFile } from "./replace-file.ts";

/** A domains file at one time. */
export type DomainsSnapshot =
  | { readonly ok: true; readonly version: string; readonly domains: DomainMapping }
  /** Every problem; a file that cannot be read has one. */
  | { readonly ok: false; readonly code: "invalid_file"; readonly problems: readonly FileProblem[] };

/** What became of a change. Unless it is `ok`, the file is as it was. */
export type DomainsChange =
  | { readonly ok: true; readonly domains: DomainMapping }
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] }
  | { readonly ok: false; readonly code: DomainsChangeErrorCode; readonly message: string };

/** Why a change was not made, besides what is wrong with it. */
export type DomainsChangeErrorCode =
  | "unreadable"
  | "file_changed"
  | "invalid_file"
  | "host_not_found"
  | "not_editable"
  | "not_written";

/** A domains file that the console shows and changes. */
export interface DomainsFile {
  readonly path: string;
  read(): Promise<DomainsSnapshot>;
  /** Makes a change, unless the file has changed since the version that its author saw. */
  change(version: string, change: DomainChange): Promise<DomainsChange>;
}

const CHANGED =
  "The file has changed since this page showed it, so nothing was written. It is shown as it is now: look at it and try again.";

/** Opens a domains file. It is read again whenever it is asked for, and parsed only if it has changed. */
export function openDomainsFile(path: string, plan: Plan): DomainsFile {
  let last: { readonly version: string; readonly snapshot: DomainsSnapshot } | undefined;

  function snapshotOf(content: FileContent): DomainsSnapshot {
    const { version } = content;
    if (last?.version === version) return last.snapshot;
    const parsed = parseFile(content, plan);
    const snapshot: DomainsSnapshot = parsed.ok ? { ok: true, version, domains: parsed.domains } : parsed;
    last = { version, snapshot };
    return snapshot;
  }

  return {
    path,
    async read() {
      const read = await readTextFile(path);
      if (read.ok) return snapshotOf(read.content);
      return { ok: false, code: "invalid_file", problems: [{ path: "", message: read.message }] };
    },
    async change(version, change) {
      const read = await readTextFile(path);
      if (!read.ok) return read;
      if (read.content.version !== version) return { ok: false, code: "file_changed", message: CHANGED };
      const changed = changeDomains(read.content.text, plan, change);
      if (!changed.ok) return changed;
      const replaced = await replaceFile(path, read.content, changed.text);
      return replaced.ok ? { ok: true, domains: changed.domains } : replaced;
    },
  };
}
