/** A domains file, YAML or JSON: its problems with their positions, and its text after a change. */
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
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
type ParsedFile =
  | { readonly ok: true; readonly domains: DomainMapping; readonly document: Document }
  | { readonly ok: false; readonly code: "invalid_hosts"; readonly problems: readonly HostsProblem[] };

/** Parses a domains file, YAML or JSON, and validates it as `serve` does. */
export function parseFile(text: string, plan: Plan): ParsedFile {
  const lines = new LineCounter();
  // Warnings, such as one about an unknown tag, would be printed by Node.
  // Comments would keep the first character of a line end of Windows.
  const document = parseDocument(text.replaceAll("\r\n", "\n"), {
    lineCounter: lines,
    logLevel: "error",
    prettyErrors: false,
  });
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
 * The text of a valid domains file after a change of its document. Comments and the order stay, except a comment on the
 * lines of what is removed; the spacing may not. The result is not validated here. Undefined if parts of the file stand for
 * others (YAML anchors), so that a change of one place is a change of several.
 */
export function editText(text: string, document: Document, change: DomainChange): string | undefined {
  let hasAliases = false;
  visit(document, {
    Alias() {
      hasAliases = true;
    },
  });
  if (hasAliases) return undefined;
  const mapping = document.getIn(["domains"], true) as YAMLMap;
  const place = change.kind === "add" ? undefined : placeOf(mapping, change.host);
  if (change.kind === "set_role" && place?.key === KEYS[change.role]) return text;
  if (change.kind !== "remove") addHost(document, mapping, change.host, change.role);
  if (place !== undefined) removeItem(place);
  const changed = isJson(text)
    ? `${JSON.stringify(document.toJS(), null, 2)}\n`
    : document.toString({ lineWidth: 0 });
  return text.includes("\r\n") ? changed.replaceAll("\n", "\r\n") : changed;
}

const KEYS = { primary: "primary", alias: "aliases", redirect: "redirects" } as const;

/** Where a host is: an item of a list, or the pair of the primary. */
interface Place {
  readonly key: string;
  readonly collection: YAMLMap | YAMLSeq;
  readonly index: number;
}

/** The place of a host, which the file has in any spelling. */
function placeOf(mapping: YAMLMap, host: string): Place | undefined {
  const places = mapping.items.flatMap(({ key, value }, index) =>
    isSeq(value)
      ? value.items.map((item, each) => ({ key, collection: value, index: each, name: hostOf(item) }))
      : [{ key, collection: mapping, index, name: value }],
  );
  const place = places.find(({ name }) => {
    const parsed = parseHostname(`${name}`);
    return parsed.ok && parsed.hostname === host;
  });
  return place && { ...place, key: `${place.key}` };
}

const hostOf = (item: unknown) => (isMap(item) ? item.get("from") : item);

function addHost(document: Document, mapping: YAMLMap, host: string, role: HostRole): void {
  const primary = mapping.get("primary", true);
  if (role === "redirect") {
    const redirect = document.createNode({ from: host, to: primary?.value, status: 301 }, { flow: true });
    append(document, mapping, "redirects", redirect);
  } else if (role === "alias") {
    append(document, mapping, "aliases", document.createNode(host));
  } else if (isScalar(primary)) {
    append(document, mapping, "aliases", document.createNode(primary.value));
    primary.value = host;
    const redirects = mapping.get("redirects");
    if (isSeq(redirects)) for (const item of redirects.items) if (isMap(item)) item.set("to", host);
  } else {
    // An empty mapping is written as {}, which is no place for a list of hosts.
    if (mapping.items.length === 0) mapping.flow = false;
    mapping.items.unshift(document.createPair("primary", host));
  }
}

function append(document: Document, mapping: YAMLMap, key: "aliases" | "redirects", item: Node): void {
  const list = mapping.get(key);
  if (isSeq(list)) list.items.push(item);
  else mapping.set(document.createNode(key), document.createNode([item], { flow: key === "aliases" }));
}

/** Removes an item. A comment above it stays above what follows it. */
function removeItem({ collection, index }: Place): void {
  const nodes = collection.items.map((item) => (isPair(item) ? item.key : item) as Node);
  collection.items.splice(index, 1);
  const comment = nodes[index]?.commentBefore;
  if (comment == null) return;
  const next = nodes[index + 1];
  if (next !== undefined) next.commentBefore = joined(comment, next.commentBefore);
  else collection.comment = joined(comment, collection.comment);
}

const joined = (...comments: readonly (string | null | undefined)[]) =>
  comments.filter((comment) => comment != null).join("\n");

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
