/** A domains file, YAML or JSON: its problems with their positions, and its text after a change. */
import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
  type YAMLSeq,
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

/** A change of the mapping. Hosts are in normal form, except one that is added. */
export type DomainChange =
  | { readonly kind: "add"; readonly host: string; readonly role: HostRole }
  | { readonly kind: "remove"; readonly host: string }
  /** A new primary makes the old one an alias, and every redirect leads to it. */
  | { readonly kind: "set_role"; readonly host: string; readonly role: HostRole };

/**
 * Changes the text of a valid domains file, and no character that does not have to change: comments, order and form of
 * everything else stay. The result is not validated here. Undefined if parts of the file stand for others (YAML anchors),
 * so that a change of one place is a change of several.
 */
export function editText(text: string, document: Document, change: DomainChange): string | undefined {
  let hasAliases = false;
  visit(document, {
    Alias() {
      hasAliases = true;
    },
  });
  if (hasAliases) return undefined;
  const place = change.kind === "add" ? undefined : placeOf(mappingIn(document), change.host);
  if (change.kind === "set_role" && place?.key === KEYS[change.role]) return text;
  const added = change.kind === "remove" ? text : addHost(text, document, change.host, change.role);
  return place === undefined ? added : removeHost(added, place);
}

const KEYS = { primary: "primary", alias: "aliases", redirect: "redirects" } as const;

interface Place {
  readonly key: (typeof KEYS)[HostRole];
  /** The place in the list. */
  readonly index: number;
}

/** The place of a host, which the file has in any spelling. */
function placeOf(mapping: YAMLMap, host: string): Place | undefined {
  const places = Object.values(KEYS).flatMap((key) => {
    const hosts = key === "primary" ? [mapping.get(key)] : listIn(mapping, key).map(hostOf);
    return hosts.map((each, index) => ({ key, index, parsed: parseHostname(stringOf(each)) }));
  });
  return places.find(({ parsed }) => parsed.ok && parsed.hostname === host);
}

const hostOf = (item: unknown) => (isMap(item) ? item.get("from") : item);

function addHost(text: string, document: Document, host: string, role: HostRole): string {
  const mapping = mappingIn(document);
  const primary = mapping.get("primary", true);
  if (role === "alias") return append(text, mapping, "aliases", host);
  if (role === "redirect") {
    return append(text, mapping, "redirects", { from: host, to: stringOf(primary), status: 301 });
  }
  if (!isScalar(primary)) return insertPair(text, mapping, "primary", format(host, isJson(text)));
  const targets = listIn(mapping, "redirects").map((item) => isMap(item) && item.get("to", true));
  const changed = [primary, ...targets]
    .filter((node) => isScalar(node))
    .toSorted((one, other) => startOf(other) - startOf(one))
    .reduce((all, node) => splice(all, startOf(node), endOf(node), formatLike(host, node, all)), text);
  return append(changed, mappingIn(parseDocument(changed)), "aliases", stringOf(primary));
}

type Item = string | Readonly<Record<string, string | number>>;

/** Appends to a list in the form of its last item. A new list is written as in the documentation. */
function append(text: string, mapping: YAMLMap, key: "aliases" | "redirects", value: Item): string {
  const inline = format(value, isJson(text));
  const list = mapping.get(key, true) as YAMLSeq<Node> | undefined;
  if (list === undefined) {
    const hasLines = key === "redirects" && mapping.flow !== true;
    const item = `${lineBreakOf(text)}${" ".repeat(columnOf(text, mapping) + 2)}- ${inline}`;
    return insertPair(text, mapping, key, hasLines ? item : ` [${inline}]`);
  }
  const last = list.items.at(-1);
  if (last === undefined) return splice(text, startOf(list) + 1, startOf(list) + 1, inline);
  const item = typeof value === "string" ? formatLike(value, last, text) : inline;
  if (list.flow === true) return insertInFlow(text, last, last, item);
  const dash = /^ *- */.exec(text.slice(startOfItem(text, list, list.items.length - 1)))?.[0] ?? "";
  const start = dash.endsWith(" ") ? dash : `${dash} `;
  const hasLines = isMap(last) && last.flow !== true && typeof value !== "string";
  const lines = hasLines ? Object.entries(value).map(([name, each]) => `${name}: ${each}`) : [item];
  return insertLine(text, last, start + lines.join(lineBreakOf(text) + " ".repeat(start.length)));
}

/** Inserts a pair: the primary first, a list last. */
function insertPair(text: string, mapping: YAMLMap, key: string, value: string): string {
  const pair = `${isJson(text) ? JSON.stringify(key) : key}:${/^\s/.test(value) ? "" : " "}${value}`;
  const [first] = mapping.items as Pair<Node, Node>[];
  const last = mapping.items.at(-1) as Pair<Node, Node> | undefined;
  if (first === undefined || last === undefined) {
    if (isJson(text)) return splice(text, startOf(mapping), endOf(mapping), `{ ${pair} }`);
    // An empty mapping is written as {}, which is no place for a list of hosts.
    const before = text.slice(0, startOf(mapping)).trimEnd().length;
    return splice(text, before, endOf(mapping), `${lineBreakOf(text)}  ${pair}`);
  }
  const indent = " ".repeat(columnOf(text, mapping));
  const separator = mapping.flow === true ? ", " : lineBreakOf(text) + indent;
  if (key === "primary") return splice(text, startOf(first.key), startOf(first.key), pair + separator);
  return mapping.flow === true
    ? insertInFlow(text, last.key, last.value ?? last.key, pair)
    : insertLine(text, last.value ?? last.key, indent + pair);
}

function insertLine(text: string, before: Node, line: string): string {
  const end = lineEnd(text, endOf(before));
  return splice(text, end, end, lineBreakOf(text) + line);
}

/** Inserts after the last item in brackets, given by its first and last node: on a line of its own if that one is. */
function insertInFlow(text: string, first: Node, last: Node, item: string): string {
  const end = endOf(last);
  const [gap = ""] = /\s*$/.exec(text.slice(0, startOf(first))) ?? [];
  const [rest = "", comma = ",", comment = ""] =
    /^([^\S\r\n]*,)?([^\S\r\n]*#[^\r\n]*)?/.exec(text.slice(end)) ?? [];
  const own = comment === "" || gap.includes("\n") ? gap : `${lineBreakOf(text)}  `;
  return splice(text, end, end + rest.length, `${comma}${comment}${own || " "}${item}`);
}

function removeHost(text: string, { key: name, index }: Place): string {
  const document = parseDocument(text);
  const mapping = mappingIn(document);
  const place = (mapping.items as Pair<Node, Node>[]).findIndex(({ key }) => stringOf(key) === name);
  const { key, value: list } = mapping.items[place] as Pair<Node, Node>;
  if (isSeq(list)) {
    if (list.items.length > 1) return removeItem(text, list, index);
    const above = text.slice(0, lineStart(text, startOf(key))).trimEnd();
    const end = list.flow === true ? lineEnd(text, endOf(list)) : startOfItem(text, list, 0);
    const hasComment = /^\s*#/.test(above.slice(above.lastIndexOf("\n") + 1));
    // A list with a comment stays, empty.
    if (hasComment || text.slice(endOf(key), end).includes("#")) return clear(text, key, list, "[]");
  }
  if (mapping.items.length > 1) return removeItem(text, mapping, place);
  const domains = (document.contents as unknown as YAMLMap<Node>).items.find(
    ({ value }) => value === mapping,
  );
  return clear(text, domains?.key as Node, mapping, "{}");
}

/** Replaces the only item of a list or mapping by brackets. Comments around it stay. */
function clear(text: string, key: Node, collection: YAMLMap | YAMLSeq, brackets: string): string {
  if (collection.flow === true) return splice(text, startOf(collection), endOf(collection), brackets);
  const colon = endOf(key) + text.slice(endOf(key)).indexOf(":") + 1;
  return splice(removeItem(text, collection, 0), colon, colon, ` ${brackets}`);
}

/** Removes an item: its lines, or what is between its neighbours in brackets. */
function removeItem(text: string, collection: YAMLMap | YAMLSeq, index: number): string {
  const nodes = collection.items.map((item) => (isPair(item) ? [item.key, item.value] : [item, item]));
  const [start, end] = [startOf(nodes[index]?.[0]), endOf(nodes[index]?.[1])];
  if (collection.flow !== true) {
    const first = isSeq(collection) ? startOfItem(text, collection, index) : lineStart(text, start);
    return splice(text, first, nextLine(text, end), "");
  }
  const before = index === nodes.length - 1 ? endOf(nodes[index - 1]?.[1]) : start;
  if (/^\s*,\s*$/.test(text.slice(before, start))) return splice(text, before, end, "");
  const [rest = ""] = /^\s*,?[^\S\r\n]*(#[^\r\n]*)?/.exec(text.slice(end)) ?? [];
  const after = end + rest.length;
  const isAlone = text.slice(lineStart(text, start), start).trim() === "" && lineEnd(text, after) === after;
  return isAlone
    ? splice(text, lineStart(text, start), nextLine(text, after), "")
    : splice(text, start, after, "");
}

function mappingIn(document: Document | ReturnType<typeof parseDocument>): YAMLMap {
  return document.getIn(["domains"], true) as YAMLMap;
}

function listIn(mapping: YAMLMap, key: string): readonly unknown[] {
  const list = mapping.get(key, true);
  return isSeq(list) ? list.items : [];
}

function stringOf(value: unknown): string {
  return String(isScalar(value) ? value.value : value);
}

function isJson(text: string): boolean {
  return /^\s*\{\s*"/.test(text);
}

/** Writes a value on one line. What is no hostname is quoted, so that it stays one string. */
function format(value: Item | number, asJson: boolean): string {
  if (typeof value === "number") return `${value}`;
  if (typeof value === "string") return asJson || !parseHostname(value).ok ? JSON.stringify(value) : value;
  const pairs = Object.entries(value).map(
    ([name, each]) => `${asJson ? JSON.stringify(name) : name}: ${format(each, asJson)}`,
  );
  return `{ ${pairs.join(", ")} }`;
}

/** Writes a string in the quotes of another one. */
function formatLike(value: string, other: Node, text: string): string {
  const quote = text[startOf(other)];
  return quote === "'" && parseHostname(value).ok ? `'${value}'` : format(value, quote === '"');
}

function startOf(node: unknown): number {
  return (isNode(node) && node.range?.[0]) || 0;
}

/** The end of a node, without the comment and the line break after it. */
function endOf(node: unknown): number {
  if (!isCollection(node) || node.flow === true) return (isNode(node) && node.range?.[1]) || 0;
  const last = node.items.at(-1);
  return endOf(isPair(last) ? last.value : last);
}

/** The start of the line with the dash of an item. */
function startOfItem(text: string, list: YAMLSeq, index: number): number {
  const from = index === 0 ? lineStart(text, startOf(list)) : lineEnd(text, endOf(list.items[index - 1]));
  return from + text.slice(from).search(/^[^\S\r\n]*-/m);
}

function columnOf(text: string, node: Node): number {
  return startOf(node) - lineStart(text, startOf(node));
}

function lineStart(text: string, position: number): number {
  return text.lastIndexOf("\n", position - 1) + 1;
}

function lineEnd(text: string, position: number): number {
  return position + text.slice(position).search(/\r?\n|$/);
}

function nextLine(text: string, position: number): number {
  return position + (/^.*(\r?\n)?/.exec(text.slice(position))?.[0].length ?? 0);
}

function lineBreakOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function splice(text: string, start: number, end: number, replacement: string): string {
  return text.slice(0, start) + replacement + text.slice(end);
}
