import { type Document, isNode, LineCounter, parseDocument, visit } from "yaml";
import type { DomainMapping } from "../../domains/mapping.ts";
import { parseDomainsFile } from "../../domains/parse.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import type { FileContent } from "./read-file.ts";

/** Something wrong in a domains file. */
export interface FileProblem {
  /** From 1. Missing if the problem has no place. */
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
  /** The path of the value, such as `domains.redirects[0].from`. Empty if the file is not YAML. */
  readonly path: string;
  readonly message: string;
}

/** A domains file that was parsed, or everything that is wrong with it. */
export type ParsedFile =
  | { readonly ok: true; readonly domains: DomainMapping; readonly document: Document }
  | { readonly ok: false; readonly code: "invalid_file"; readonly problems: readonly FileProblem[] };

/** Parses a domains file, YAML or JSON, and validates it as `serve` does. */
export function parseFile({ text }: Pick<FileContent, "text">, plan: Plan): ParsedFile {
  const lines = new LineCounter();
  // Warnings, such as one about an unknown tag, would be printed by Node.
  const document = parseDocument(text, { lineCounter: lines, logLevel: "error", prettyErrors: false });
  if (document.errors.length > 0) {
    return invalid(
      document.errors.map(({ code, message, pos }) => ({
        ...placeAt(lines, pos[0]),
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
      ...placeOf(document as Document, lines, path),
      path,
      message,
    })),
  );
}

/** True if parts of the file stand for others, so that a change of one place is a change of several. */
export function hasAnchors(document: Document): boolean {
  let found = false;
  visit(document, {
    Alias() {
      found = true;
      return visit.BREAK;
    },
  });
  return found;
}

function invalid(problems: readonly FileProblem[]): ParsedFile {
  return { ok: false, code: "invalid_file", problems };
}

function placeAt(lines: LineCounter, offset: number): Pick<FileProblem, "line" | "column"> {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

/** Where the value at a path is, or the nearest value around it. */
function placeOf(document: Document, lines: LineCounter, path: string): Pick<FileProblem, "line" | "column"> {
  const names = (path.match(/[^.[\]]+/g) ?? []).map((name) => (/^\d+$/.test(name) ? Number(name) : name));
  for (let length = names.length; length > 0; length--) {
    const node = document.getIn(names.slice(0, length), true);
    if (isNode(node) && node.range != null) return placeAt(lines, node.range[0]);
  }
  return document.contents?.range == null ? {} : placeAt(lines, document.contents.range[0]);
}
