import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** The root of the repository, with a slash at the end. */
export const ROOT: string = new URL("../..", import.meta.url).pathname;

export interface Document {
  /** Relative to the root. */
  readonly path: string;
  readonly text: string;
}

/** A table: its cells without code marks and link targets. */
export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export const DOCUMENTS: readonly Document[] = globSync(
  ["*.md", ".github/**/*.md", "{lib,infra,test,findings}/**/*.md"],
  {
    cwd: ROOT,
    exclude: ["**/node_modules/**"],
  },
)
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

export function document(path: string): Document {
  const found = DOCUMENTS.find((each) => each.path === path);
  if (found === undefined) throw new Error(`There is no document ${path}.`);
  return found;
}

export function codeBlocks({ text }: Document, language: string): readonly string[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, found, code = ""]) =>
    found === language ? [code] : [],
  );
}

/** The text without its code blocks. */
export function prose({ text }: Document): string {
  return text.replace(/^```.*?^```$/gms, "");
}

/** Everything that is marked as code, in blocks and in lines. */
export function code(from: Document): string {
  const blocks = [...from.text.matchAll(/^```.*?\n(.*?)^```$/gms)];
  const spans = [...prose(from).matchAll(/`([^`]+)`/g)];
  return [...blocks, ...spans].map(([, text]) => text).join("\n");
}

/** The rows of all settings of a stack: most are in one table, those of a special task in its document. */
export function settingRows(): Table["rows"] {
  const documents = ["infra/README.md", "infra/domains/README.md", "infra/recovery.md"];
  return documents.flatMap((path) => table(path, "setting", "meaning", "default").rows);
}

/** The one table whose header begins with these cells. */
export function table(path: string, ...header: readonly string[]): Table {
  const found = tablesOf(document(path)).filter((each) =>
    header.every((cell, at) => each.header[at] === cell),
  );
  if (found.length !== 1)
    throw new Error(`${path} has ${found.length} tables that begin with ${header.join(" | ")}.`);
  return found[0] as Table;
}

/** The commands in the table of the command line. A cell names its group once: "keys issue, import, list". */
export function listedCommands(): readonly string[] {
  return table("lib/node/README.md", "command", "for").rows.flatMap(([cell = ""]) => {
    const [first = "", ...others] = cell.split(", ");
    const group = first.replace(/[^ ]+$/, "");
    return [first, ...others.map((name) => `${group}${name}`)];
  });
}

function tablesOf(from: Document): readonly Table[] {
  return [...prose(from).matchAll(/^\|.+\|\n\|[-:| ]+\|\n(?:\|.+\|\n?)+/gm)].map(([block]) => {
    const [header = [], , ...rows] = block.trim().split("\n").map(cellsOf);
    return { header, rows };
  });
}

function cellsOf(line: string): readonly string[] {
  const cells = line.slice(1, -1).split("|");
  return cells.map((cell) =>
    cell
      .replace(/\[([^\]]+)\]\([^)]+\)/g, "$1")
      .replaceAll("`", "")
      .trim(),
  );
}

/** The anchors that the headings of a document have, as GitHub forms them. */
export function anchors(from: Document): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const headings = [...prose(from).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set(headings);
}

export interface Link {
  /** Relative to the root. */
  readonly target: string;
  readonly anchor?: string;
}

/** The links of a document to places in the project; those to other sites are left out. */
export function localLinks(from: Document): readonly Link[] {
  return [...prose(from).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(
    ([, file = "", anchor]) => ({
      target: file === "" ? from.path : normalize(join(dirname(from.path), file)),
      ...(anchor === undefined ? {} : { anchor }),
    }),
  );
}
