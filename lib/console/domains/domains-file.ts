/** The file that `serve --domains` reads, as the console shows and changes it. */
import type { Issue } from "../../core/errors.ts";
import { parseCustomHost } from "../../domains/hostname.ts";
import { type DomainMapping, type HostRole, hostsOf } from "../../domains/mapping.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import { type DomainChange, editText, parseFile } from "./domains-document.ts";
import type { FileSource, HostSource, HostsSnapshot } from "./host-source.ts";
import { type FileContent, readTextFile, replaceFile } from "./text-file.ts";

/** The result of a change. Unless it is `ok`, the file is as it was. */
export type DomainsChange =
  | { readonly ok: true; readonly domains: DomainMapping }
  /** The rules of every domains file reject the result of the change. */
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] }
  | { readonly ok: false; readonly code: DomainsChangeErrorCode; readonly message: string };

/** The reason why a valid change was not made. */
type DomainsChangeErrorCode =
  | "unreadable"
  | "file_changed"
  | "invalid_file"
  | "host_not_found"
  | "not_editable"
  | "not_written";

const CHANGED =
  "The file has changed since this page showed it, so nothing was written. It is shown as it is now: look at it and try again.";

/** Opens a domains file. It is read at every call, and parsed only if it has changed. */
export function openDomainsFile({ kind, path, plan, target }: FileSource): Required<HostSource> {
  let last: { readonly version: string; readonly snapshot: HostsSnapshot } | undefined;

  function snapshotOf({ version, text }: FileContent): HostsSnapshot {
    if (last?.version === version) return last.snapshot;
    const parsed = parseFile(text, plan);
    const hosts = parsed.ok
      ? hostsOf(parsed.domains).map((host) => ({ ...host, ...(target && { target }) }))
      : [];
    const snapshot: HostsSnapshot = parsed.ok ? { ok: true, version, hosts, knownZones: [] } : parsed;
    last = { version, snapshot };
    return snapshot;
  }

  return {
    kind,
    name: path,
    async read() {
      const read = await readTextFile(path);
      if (read.ok) return snapshotOf(read.content);
      return { ok: false, code: "invalid_hosts", problems: [{ path: "", message: read.message }] };
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

/** The content of a file after a change, or the reason why there is none. */
type ChangedText =
  | { readonly ok: true; readonly text: string; readonly domains: DomainMapping }
  | Extract<DomainsChange, { ok: false }>;

const NOT_EDITABLE =
  "The file is written in a way that the console cannot change without rewriting it, such as with YAML anchors. Edit it by hand.";

/** Changes the content of a domains file. Pure. The result is parsed and validated again before it is returned. */
export function changeDomains(text: string, plan: Plan, change: DomainChange): ChangedText {
  const before = parseFile(text, plan);
  if (!before.ok) {
    const message = "The file has an error, so nothing was written. Fix it first.";
    return { ok: false, code: "invalid_file", message };
  }
  if (change.kind !== "add" && !hostsOf(before.domains).some(({ host }) => host === change.host)) {
    return { ok: false, code: "host_not_found", message: `${change.host} is not in the file any more.` };
  }
  // The file gets the name in normal form. What is no name is rejected below, like anything else in the file.
  const named = parseCustomHost(change.host);
  const normal = named.ok ? { ...change, host: named.hostname } : change;
  const changed = editText(text, before.document, normal);
  if (changed === undefined) return notEditable();
  const after = parseFile(changed, plan);
  if (!after.ok) return { ok: false, code: "invalid_domains", issues: after.problems };
  const expected = rolesAfter(before.domains, normal);
  const found = rolesOf(after.domains);
  const isExpected =
    found.size === expected.size && [...expected].every(([host, role]) => found.get(host) === role);
  return isExpected ? { ok: true, text: changed, domains: after.domains } : notEditable();
}

/** The role of every host, in any order. */
function rolesOf(domains: DomainMapping): Map<string, HostRole> {
  return new Map(hostsOf(domains).map(({ host, role }) => [host, role]));
}

function rolesAfter(domains: DomainMapping, change: DomainChange): ReadonlyMap<string, HostRole> {
  const roles = rolesOf(domains);
  roles.delete(change.host);
  if (change.kind === "remove") return roles;
  if (change.role === "primary" && domains.primary !== undefined) roles.set(domains.primary, "alias");
  return roles.set(change.host, change.role);
}

function notEditable(): ChangedText {
  return { ok: false, code: "not_editable", message: NOT_EDITABLE };
}
