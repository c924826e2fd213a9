import { type Document, isMap, isSeq } from "yaml";

/** Writes a changed domains file as text. Lines that did not change are as they were. */
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

/** True if the mapping is where it can be edited. */
export function isEditable(document: Document): boolean {
  const mapping = document.getIn(["domains"], true);
  if (!isMap(mapping)) return false;
  return ["aliases", "redirects"].every((key) => !mapping.has(key) || isSeq(mapping.get(key, true)));
}
