import { type Document, isMap, isScalar, isSeq, type Node, Pair, type Scalar, YAMLMap, YAMLSeq } from "yaml";
import { parseHostname } from "../../domains/hostname.ts";
import type { HostRole } from "../../domains/mapping.ts";

/** A change of the mapping. Hosts are in normal form, except one that is added. */
export type DomainChange =
  | { readonly kind: "add"; readonly host: string; readonly role: HostRole }
  | { readonly kind: "remove"; readonly host: string }
  /** A new primary makes the old one an alias, and every redirect leads to it. */
  | { readonly kind: "set_role"; readonly host: string; readonly role: HostRole };

/** Changes a valid domains file in place. Comments and order stay. What results is not validated here. */
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
