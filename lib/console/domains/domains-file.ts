/**
 * The file that `serve --domains` reads, as the console shows and changes it. Others edit it too: it is read in bounded time,
 * edited so that its comments and its order stay, and replaced at once.
 */
import { createHash } from "node:crypto";
import { constants, type FileHandle, open, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as yaml from "yaml";
import { type Issue, isInvalidInput } from "../../core/errors.ts";
import { parseHostname } from "../../domains/hostname.ts";
import { type DomainMapping, hostsOf } from "../../domains/mapping.ts";
import { parseDomainsFile } from "../../domains/parse.ts";
import type { HostToVerify } from "../../domains/status/verify.ts";
import { type FileProblem, parseYaml, readBounded } from "../../files/bounded.ts";
import type { Plan } from "../../plans/plan-limits.ts";

export interface KnownHosts {
  readonly ok: true;
  /** The version of the file. */
  readonly version: string;
  readonly hosts: readonly HostToVerify[];
}

/** The hosts of the project at one time, or every problem of the file. */
export type HostsSnapshot = KnownHosts | { readonly ok: false; readonly problems: readonly FileProblem[] };

export function primaryOf({ hosts }: KnownHosts): string | undefined {
  return hosts.find(({ role }) => role === "primary")?.host;
}

/** A change of the mapping. A name is in normal form; what is no name is rejected, like anything else in the file. */
export type DomainChange =
  | { readonly kind: "remove"; readonly host: string }
  /** The first host becomes the primary, whatever its role. */
  | { readonly kind: "add"; readonly host: string; readonly role: "alias" | "redirect" };

/** The result of a change. Unless it is `ok`, the file is as it was. */
export type DomainsChange =
  | { readonly ok: true }
  /** The rules of every domains file reject the result of the change. */
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] }
  | Failure;

/** The reason why a valid change was not made. */
interface Failure {
  readonly ok: false;
  readonly code:
    | ("unreadable" | "not_written" | "not_editable")
    | ("file_changed" | "invalid_file" | "host_not_found");
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

export interface DomainsFile {
  /** The file's name for people. */
  readonly name: string;
  /** Reads the hosts as they are now. */
  read(): Promise<HostsSnapshot>;
  /** Makes a change of the version that its author saw. */
  change(version: string, change: DomainChange): Promise<DomainsChange>;
}

/** The file that `serve --domains` reads, and what its hosts have in common. */
export interface FileOptions {
  readonly path: string;
  /** The plan of the project. */
  readonly plan: Plan;
  /** The platform host that the records point to, if known. */
  readonly target?: string;
  /** The zones of hosts, by host. They override the zones that DNS has. @default none */
  readonly zones?: ReadonlyMap<string, string>;
}

/** Opens a domains file. It is read at every call, and parsed only if it has changed. */
export function openDomainsFile({ path, plan, target, zones }: FileOptions): DomainsFile {
  let last: { readonly version: string; readonly snapshot: HostsSnapshot } | undefined;

  function snapshotOf({ version, text }: FileContent): HostsSnapshot {
    const parsed = parseFile(text, plan);
    if (!parsed.ok) return parsed;
    const hosts = hostsOf(parsed.domains).map((each) => ({ ...each, target, zone: zones?.get(each.host) }));
    return { ok: true, version, hosts };
  }

  return {
    name: path,
    async read() {
      const read = await readTextFile(path);
      if (!read.ok) return { ok: false, problems: [{ path: "", message: read.message }] };
      const { version } = read.content;
      if (last?.version !== version) last = { version, snapshot: snapshotOf(read.content) };
      return last.snapshot;
    },
    async change(version, change) {
      const read = await readTextFile(path);
      if (!read.ok) return read;
      if (read.content.version !== version) return CHANGED;
      const changed = changeDomains(read.content.text, plan, change);
      return changed.ok ? replaceFile(path, read.content, changed.text) : changed;
    },
  };
}

/** Changes the content of a domains file. Pure. The result is parsed and validated again before it is returned. */
export function changeDomains(
  text: string,
  plan: Plan,
  change: DomainChange,
): { readonly ok: true; readonly text: string } | Exclude<DomainsChange, { ok: true }> {
  const before = parseFile(text, plan);
  if (!before.ok) return fail("invalid_file", "The file has an error, so nothing was written. Fix it first.");
  const isThere = hostsOf(before.domains).some(({ host }) => host === change.host);
  if (change.kind === "remove" && !isThere)
    return fail("host_not_found", `${change.host} is not in the file any more.`);
  const changed = editText(text, before.document, change);
  if (changed === undefined) return NOT_EDITABLE;
  const after = parseFile(changed, plan);
  if (after.ok) return { ok: true, text: changed };
  return { ok: false, code: "invalid_domains", issues: after.problems };
}

/** A valid domains file, or all of its problems. */
type ParsedFile =
  | { readonly ok: true; readonly domains: DomainMapping; readonly document: yaml.Document }
  | Extract<HostsSnapshot, { ok: false }>;

/** Parses a domains file, YAML or JSON, and validates it as `serve` does. */
function parseFile(text: string, plan: Plan): ParsedFile {
  // Comments would keep the first character of a line end of Windows.
  const read = parseYaml(text.replaceAll("\r\n", "\n"));
  if (!read.ok) return read;
  const { document, content, positionAt } = read;
  const parsed = parseDomainsFile(content, { plan });
  if (parsed.ok) return { ok: true, domains: parsed.domains, document };
  const placed = parsed.issues.map((issue) => ({ ...positionAt(offsetOf(document, issue.path)), ...issue }));
  return { ok: false, problems: placed };
}

/** The offset of the node at a path, or of its nearest ancestor. */
function offsetOf(document: yaml.Document, path: string): number | undefined {
  const names = (path.match(/[^.[\]]+/g) ?? []).map((name) => (/^\d+$/.test(name) ? Number(name) : name));
  for (let length = names.length; length >= 0; length--) {
    const node = document.getIn(names.slice(0, length), true);
    if (yaml.isNode(node) && node.range != null) return node.range[0];
  }
  return undefined;
}

/**
 * The text of a valid domains file after a change of its document. Comments and the order stay, except a comment at what
 * is removed; the spacing may not. The result is not validated here. Undefined if parts of the file stand for others (YAML
 * anchors, merge keys), so that a change of one place is a change of several, or none.
 */
function editText(text: string, document: yaml.Document, change: DomainChange): string | undefined {
  const references: unknown[] = [];
  yaml.visit(document, {
    Alias: (_key, alias) => void references.push(alias),
    Pair: (_key, { key }) => void (yaml.isScalar(key) && key.source === "<<" && references.push(key)),
  });
  const mapping = document.getIn(["domains"], true);
  if (references.length > 0 || !yaml.isMap<unknown, unknown>(mapping)) return undefined;
  if (change.kind === "add") addHost(document, mapping, change);
  else removeHost(mapping, change.host);
  const changed = isJson(text)
    ? `${JSON.stringify(document.toJS(), null, 2)}\n`
    : document.toString({ lineWidth: 0 });
  return text.includes("\r\n") ? changed.replaceAll("\n", "\r\n") : changed;
}

type Addition = Extract<DomainChange, { kind: "add" }>;

function addHost(document: yaml.Document, mapping: yaml.YAMLMap, { host, role }: Addition): void {
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

/** Removes a host, which the file has in any spelling, with the comment above it. */
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

export interface FileContent {
  /** The file itself, behind symbolic links. */
  readonly realPath: string;
  readonly text: string;
  /** Differs if the content does, or if a link leads elsewhere. */
  readonly version: string;
}

/** Reads a text file. Returns in bounded time: a pipe, a device and a huge file are not read. */
export async function readTextFile(
  path: string,
): Promise<{ readonly ok: true; readonly content: FileContent } | Failure> {
  try {
    const realPath = await realpath(path);
    const bytes = readBounded(realPath);
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const version = createHash("sha256").update(`${realPath}\0`).update(bytes).digest("base64url");
    return { ok: true, content: { realPath, text, version } };
  } catch (error) {
    if (isInvalidInput(error)) return fail("unreadable", error.message);
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA")
      return fail("unreadable", "The file is not UTF-8 text.");
    if (code === "ENOENT") return fail("unreadable", "The file does not exist (ENOENT).");
    return fail("unreadable", `The file cannot be read (${code}).`);
  }
}

/**
 * Replaces a file, unless it has changed since it was read: whoever reads it sees the old or the new content, also after
 * a power failure. Mode and owner stay, and so does a symbolic link that leads to it. The new content is first in a file
 * beside it, whose fixed name admits one writer at a time.
 */
export async function replaceFile(path: string, before: FileContent, text: string): Promise<DomainsChange> {
  const { realPath } = before;
  const next = join(dirname(realPath), `.${basename(realPath)}.next`);
  let file: FileHandle | undefined;
  try {
    // A file that does not exist, also not as a link.
    file = await open(next, "wx", 0o600);
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

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, constants.O_RDONLY);
  await directory.sync();
}
