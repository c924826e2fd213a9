/** A domains file as a YAML document: parsed, edited in place, and written with its comments and order. */
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Pair,
  parseDocument,
  type Scalar,
  visit,
  YAMLMap,
  YAMLSeq,
} from "yaml";
import { parseHostname } from "../../domains/hostname.ts";
import type { DomainMapping, HostRole } from "../../domains/mapping.ts";
import { parseDomainsFile } from "../../domains/parse.ts";
import type { Plan } from "../../plans/plan-limits.ts";

/** A problem of a domains file or of a stack's outputs, with its position. */
export interface HostsProblem {
  /** From 1. Missing if the problem has no place. */
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
  /** The path of the value, such as `domains.redirects[0].from`. Empty if the file is not YAML. */
  readonly path: string;
  readonly message: string;
}

/** A valid domains file, or all of its problems. */
export type ParsedFile =
  | { readonly ok: true; readonly domains: DomainMapping; readonly document: Document }
  | { readonly ok: false; readonly code: "invalid_hosts"; readonly problems: readonly HostsProblem[] };

/** Parses a domains file, YAML or JSON, and validates it as `serve` does. */
export function parseFile(text: string, plan: Plan): ParsedFile {
  const lines = new LineCounter();
  // Warnings, such as one about an unknown tag, would be printed by Node.
  const document = parseDocument(text, { lineCounter: lines, logLevel: "error", prettyErrors: false });
  if (document.errors.length > 0) {
    return invalid(
      document.errors.map(({ code, message, pos }) => ({
        ...positionAt(lines, pos[0]),
        path: "",
        message:
          code === "MULTIPLE_DOCS"
            ? "There are several documents, separated by '---'. Keep one."
            : `${message}.`,
      })),
    );
  }
  let content: unknown;
  try {
    content = document.toJS();
  } catch (error) {
    // Aliases that multiply without end, or that name no anchor.
    return invalid([{ path: "", message: (error as Error).message }]);
  }
  const parsed = parseDomainsFile(content, { plan });
  if (parsed.ok) return { ok: true, domains: parsed.domains, document: document as Document };
  return invalid(
    parsed.issues.map(({ path, message }) => ({
      ...positionOf(document as Document, lines, path),
      path,
      message,
    })),
  );
}

function invalid(problems: readonly HostsProblem[]): ParsedFile {
  return { ok: false, code: "invalid_hosts", problems };
}

function positionAt(lines: LineCounter, offset: number): Pick<HostsProblem, "line" | "column"> {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

/** The position of the node at a path, or of its nearest ancestor. */
function positionOf(
  document: Document,
  lines: LineCounter,
  path: string,
): Pick<HostsProblem, "line" | "column"> {
  const names = (path.match(/[^.[\]]+/g) ?? []).map((name) => (/^\d+$/.test(name) ? Number(name) : name));
  for (let length = names.length; length > 0; length--) {
    const node = document.getIn(names.slice(0, length), true);
    if (isNode(node) && node.range != null) return positionAt(lines, node.range[0]);
  }
  return document.contents?.range == null ? {} : positionAt(lines, document.contents.range[0]);
}

/** True if parts of the file stand for others, so that a change of one place is a change of several. */
function hasAnchors(document: Document): boolean {
  let found = false;
  visit(document, {
    Alias() {
      found = true;
      return visit.BREAK;
    },
  });
  return found;
}

/**
 * True if `editDocument` can change a document: its lists are lists, and no part of the file stands for several others.
 */
export function isEditable(document: Document): boolean {
  if (hasAnchors(document)) return false;
  const mapping = document.getIn(["domains"], true);
  if (!isMap(mapping)) return false;
  return ["aliases", "redirects"].every((key) => !mapping.has(key) || isSeq(mapping.get(key, true)));
}

/** A change of the mapping. Hosts are in normal form, except one that is added. */
export type DomainChange =
  | { readonly kind: "add"; readonly host: string; readonly role: HostRole }
  | { readonly kind: "remove"; readonly host: string }
  /** A new primary makes the old one an alias, and every redirect leads to it. */
  | { readonly kind: "set_role"; readonly host: string; readonly role: HostRole };

/** Changes a valid domains file in place. Comments and order stay. The result is not validated here. */
export function editDocument(document: Document, change: DomainChange): void {
  const mapping = document.getIn(["domains"], true);
  if (!isMap(mapping)) return;
  const { kind, host } = change;
  if (kind !== "add") removeHost(mapping, host);
  if (kind !== "remove") addHost(document, mapping, host, change.role);
}

function addHost(document: Document, mapping: YAMLMap, host: string, role: HostRole): void {
  if (role === "primary") setPrimary(document, mapping, host);
  else if (role === "alias") append(document, mapping, "aliases", host);
  else
    append(document, mapping, "redirects", { from: host, to: textOf(mapping.get("primary")), status: 301 });
}

function setPrimary(document: Document, mapping: YAMLMap, host: string): void {
  const before = mapping.get("primary", true);
  if (!isScalar(before)) {
    // An empty mapping is written as {}, which is no place for a list of hosts.
    if (mapping.items.length === 0) mapping.flow = false;
    mapping.items.unshift(new Pair(document.createNode("primary"), document.createNode(host)));
    return;
  }
  const old = textOf(before);
  before.value = host;
  for (const redirect of listAt(mapping, "redirects")?.items ?? []) {
    const target = isMap(redirect) ? redirect.get("to", true) : undefined;
    if (isScalar(target)) target.value = host;
  }
  append(document, mapping, "aliases", old);
}

/** Appends to a list in the style of its last item. A new list is written as in the documentation. */
function append(document: Document, mapping: YAMLMap, key: "aliases" | "redirects", value: unknown): void {
  let list = listAt(mapping, key);
  if (list === undefined) {
    list = new YAMLSeq();
    list.flow = key === "aliases";
    mapping.set(document.createNode(key), list);
  }
  const item = document.createNode(value) as Node;
  const last = list.items.at(-1);
  if (item instanceof YAMLMap) item.flow = isMap(last) ? last.flow === true : true;
  if (isScalar(item) && isScalar(last) && last.type?.startsWith("QUOTE") === true) {
    item.type = last.type as Scalar.Type;
  }
  if (list.items.length === 0 && key === "redirects") list.flow = false;
  list.items.push(item);
}

function removeHost(mapping: YAMLMap, host: string): void {
  if (isHost(mapping.get("primary"), host)) mapping.delete("primary");
  for (const key of ["aliases", "redirects"] as const) {
    const list = listAt(mapping, key);
    if (list === undefined) continue;
    list.items = list.items.filter((item) => !isHost(isMap(item) ? item.get("from") : item, host));
    const [pair] = mapping.items.filter((each) => each.value === list);
    // A list whose comments would be lost with it stays, empty.
    const hasComments = [list, pair?.key].some((node) => hasComment(node as Node | undefined));
    if (list.items.length === 0 && !hasComments) mapping.delete(key);
    if (list.items.length === 0) list.flow = true;
  }
}

function hasComment(node: Node | undefined): boolean {
  return Boolean(node?.comment ?? node?.commentBefore);
}

function listAt(mapping: YAMLMap, key: string): YAMLSeq | undefined {
  const list = mapping.get(key, true);
  return isSeq(list) ? list : undefined;
}

/** Hosts in a file are in any spelling. */
function isHost(value: unknown, host: string): boolean {
  const parsed = parseHostname(textOf(value));
  return parsed.ok && parsed.hostname === host;
}

function textOf(value: unknown): string {
  return String(isScalar(value) ? value.value : value);
}

/** Writes a changed domains file as a string. Lines that did not change are as they were. */
export function writeText(document: Document, before: string): string {
  if (isJson(before)) return `${JSON.stringify(document.toJS(), null, indentOf(before))}\n`;
  const text = document.toString({
    lineWidth: 0,
    indent: Math.max(1, indentOf(before)),
    indentSeq: !/^( *)(?:aliases|redirects):[^\S\r\n]*(?:#.*)?\r?\n(?:\s*#.*\r?\n)*\1- /m.test(before),
  });
  const lines = restoreLines(text, before);
  return before.includes("\r\n") ? lines.replaceAll("\n", "\r\n") : lines;
}

/** The YAML library normalises spaces, also those of lines that did not change. This takes the old lines instead. */
function restoreLines(text: string, before: string): string {
  const old = new Map<string, string[]>();
  for (const line of before.split(/\r?\n/)) old.set(bare(line), [...(old.get(bare(line)) ?? []), line]);
  const isTight = /\[[^\s\]]/.test(before);
  return text
    .split("\n")
    .map((line) => old.get(bare(line))?.shift() ?? (isTight ? line.replace(/\[ ([^[\]]*) \]/, "[$1]") : line))
    .join("\n");
}

function bare(line: string): string {
  return `${/^ */.exec(line)?.[0].length} ${line.replace(/\s/g, "")}`;
}

function indentOf(text: string): number {
  return /^( +)\S/m.exec(text)?.[1]?.length ?? 2;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
