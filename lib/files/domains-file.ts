/** The file that `serve --domains` reads, and the console changes. Others edit it too: so its comments and its order stay. */
import { statSync } from "node:fs";
import { type FileHandle, open, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as yaml from "yaml";
import { errorMessage, type Issue, invalidInput } from "../core/errors.ts";
import { explainTopLevel, parseHostname } from "../domains/hostname.ts";
import { type DomainMapping, hostsOf } from "../domains/mapping.ts";
import { parseDomainsFile } from "../domains/parse.ts";
import { type HostTable, hostTable } from "../domains/routing.ts";
import type { Plan } from "../plans/plan-limits.ts";
import { fileError, type InvalidFile, type ParsedFile, parseConfig, readConfigFile } from "./config-file.ts";
import { readTextFile, systemErrorCode, type TextFile } from "./read.ts";

export type DomainsFile = ParsedFile<DomainMapping> & TextFile;

const validatorFor = (plan: Plan) => (content: unknown) => {
  const parsed = parseDomainsFile(content, { plan });
  return parsed.ok ? ({ ok: true, value: parsed.domains } as const) : parsed;
};

export function findDomains(path: string, plan: Plan): DomainsFile | InvalidFile {
  return readConfigFile(path, validatorFor(plan));
}

/** Reads a domains file. Throws an `InvalidInputError` with every problem. */
export function readDomainsFile(path: string, plan: Plan): DomainMapping {
  const read = findDomains(path, plan);
  if (!read.ok) throw fileError(path, "domains", read);
  return read.value;
}

/** Returns the host table of a file as it is now. One that is invalid or missing is reported once, and the last one stays. */
export function watchDomainsFile(
  path: string,
  plan: Plan,
  platformHosts: readonly string[],
  report: (line: string) => void,
): () => HostTable {
  const read = () => {
    const domains = readDomainsFile(path, plan);
    const names = hostsOf(domains).map(({ host }) => host);
    const own = names.find((name) => platformHosts.includes(name));
    if (own !== undefined) {
      const message = `${own} is also in ${path}, and can be only one of both. Remove it here or there.`;
      throw invalidInput("--platform-host", message);
    }
    return { table: hostTable(domains, platformHosts), warnings: names.flatMap(explainTopLevel) };
  };
  let last = stampOf(path);
  let { table, warnings } = read();
  for (const warning of warnings) report(warning);
  return () => {
    const stamp = stampOf(path);
    if (stamp === last) return table;
    last = stamp;
    try {
      ({ table, warnings } = read());
      for (const line of [`${path} has changed and is now in effect.`, ...warnings]) report(line);
    } catch (error) {
      const state = stamp === "ENOENT" ? "missing" : "invalid";
      const problem = `${path} has changed and is ${state}; keeping the previous configuration`;
      report(`${problem}: ${errorMessage(error)}`);
    }
    return table;
  };
}

/** Changes when the file does, also if a copy keeps the time of another one. Costs a few microseconds. */
function stampOf(path: string): string {
  try {
    const { ctimeNs, mtimeNs, size, ino } = statSync(path, { bigint: true });
    return `${ctimeNs} ${mtimeNs} ${size} ${ino}`;
  } catch (error) {
    return systemErrorCode(error);
  }
}

/** A name is in normal form; what is no name is rejected, like anything else in the file. */
export type DomainChange =
  | { readonly kind: "remove"; readonly host: string }
  /** The first host becomes the primary, whatever its role. */
  | { readonly kind: "add"; readonly host: string; readonly role: "alias" | "redirect" };

/** Unless it is `ok`, the file is as it was. `invalid_domains`: by the rules of every domains file. */
export type DomainsChange =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] }
  | Failure;

interface Failure {
  readonly ok: false;
  readonly code: "unreadable" | "not_written" | "not_editable" | "file_changed" | "invalid_file";
  readonly message: string;
}

const fail = (code: Failure["code"], message: string): Failure => ({ ok: false, code, message });

const CHANGED = fail(
  "file_changed",
  "The file has changed since this page showed it, so nothing was written. It is shown as it is now: look at it and try again.",
);
const NOT_EDITABLE = fail(
  "not_editable",
  "The file is written in a way that the console cannot change without rewriting it, such as with YAML anchors or merge keys. Edit it by hand.",
);

export async function changeDomainsFile(
  path: string,
  plan: Plan,
  version: string,
  change: DomainChange,
): Promise<DomainsChange> {
  const read = readTextFile(path);
  if (!read.ok) return fail("unreadable", read.message);
  if (read.version !== version) return CHANGED;
  const changed = changeDomains(read.text, plan, change);
  return changed.ok ? replaceFile(path, read, changed.text) : changed;
}

/** Changes the content of a domains file, and validates the result. Pure. */
export function changeDomains(
  text: string,
  plan: Plan,
  change: DomainChange,
): { readonly ok: true; readonly text: string } | Exclude<DomainsChange, { ok: true }> {
  const before = parseConfig(text, validatorFor(plan));
  if (!before.ok) return fail("invalid_file", "The file has an error, so nothing was written. Fix it first.");
  const changed = editText(text, before.document, change);
  if (changed === undefined) return NOT_EDITABLE;
  const after = parseConfig(changed, validatorFor(plan));
  if (after.ok) return { ok: true, text: changed };
  return { ok: false, code: "invalid_domains", issues: after.problems };
}

/**
 * The text after a change. The spacing may change, and a comment at what is removed goes. Undefined if parts of the file stand
 * for others (YAML anchors, merge keys), so that a change of one place is a change of several, or none.
 */
function editText(text: string, document: yaml.Document, change: DomainChange): string | undefined {
  const references: unknown[] = [];
  yaml.visit(document, {
    Alias: (_key, alias) => void references.push(alias),
    Pair: (_key, { key }) => void (yaml.isScalar(key) && key.source === "<<" && references.push(key)),
  });
  const mapping = document.getIn(["domains"], true);
  if (references.length > 0 || !yaml.isMap<unknown, unknown>(mapping)) return undefined;
  if (change.kind === "add") insertHost(document, mapping, change);
  else removeHost(mapping, change.host);
  const changed = isJson(text)
    ? `${JSON.stringify(document.toJS(), null, 2)}\n`
    : document.toString({ lineWidth: 0 });
  return text.includes("\r\n") ? changed.replaceAll("\n", "\r\n") : changed;
}

type Addition = Extract<DomainChange, { kind: "add" }>;

function insertHost(document: yaml.Document, mapping: yaml.YAMLMap, { host, role }: Addition): void {
  const primary = mapping.get("primary");
  if (primary === undefined) {
    // An empty mapping is written as {}, which is no place for a list of hosts.
    if (mapping.items.length === 0) mapping.flow = false;
    mapping.items.unshift(document.createPair("primary", host));
    return;
  }
  const isAlias = role === "alias";
  const key = isAlias ? "aliases" : "redirects";
  const content = isAlias ? host : { from: host, to: primary, status: 301 };
  const item = document.createNode(content, { flow: !isAlias });
  const list = mapping.get(key);
  if (yaml.isSeq(list)) list.items.push(item);
  else mapping.set(document.createNode(key), document.createNode([item], { flow: isAlias }));
}

/** The file has the host in any spelling, and a comment above it goes too. */
function removeHost(mapping: yaml.YAMLMap, host: string): void {
  const isOther = (value: unknown) => {
    const parsed = parseHostname(`${yaml.isMap(value) ? value.get("from") : value}`);
    return !parsed.ok || parsed.hostname !== host;
  };
  mapping.items = mapping.items.filter(({ value }) => yaml.isSeq(value) || isOther(value));
  for (const { value } of mapping.items) if (yaml.isSeq(value)) value.items = value.items.filter(isOther);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Replaces a file that has not changed since it was read: readers see the old or the new content, also after a power failure.
 * Mode, owner and a symbolic link stay. The new content is first in a file whose fixed name admits one writer at a time.
 */
export async function replaceFile(path: string, before: TextFile, text: string): Promise<DomainsChange> {
  const { realPath } = before;
  const next = join(dirname(realPath), `.${basename(realPath)}.next`);
  let file: FileHandle | undefined;
  try {
    // A file that does not exist, also not as a link.
    file = await open(next, "wx", 0o600);
    await keepOwnerAndMode(file, realPath);
    await file.writeFile(text);
    await file.sync();
    const now = readTextFile(path);
    if (!now.ok || now.version !== before.version) return CHANGED;
    await rename(next, realPath);
    await file.close();
    file = undefined;
    return { ok: true };
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "EEXIST")
      return fail("not_written", `${next} exists. If no console is writing, delete it, and try again.`);
    const message = `The file cannot be replaced (${code}). The console needs to write in its directory.`;
    return fail("not_written", message);
  } finally {
    if (file !== undefined) {
      await file.close();
      await unlink(next).catch(() => {});
    }
  }
}

async function keepOwnerAndMode(file: FileHandle, path: string): Promise<void> {
  const { uid, gid, mode } = await stat(path);
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
  await file.chmod(mode & 0o7777);
}
