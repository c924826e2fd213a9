/** Files of settings, YAML or JSON, which others edit while a server runs: parsed in bounded time and memory. */
import {
  type Document,
  isNode,
  isScalar,
  Lexer,
  LineCounter,
  parseDocument,
  visit,
  YAMLParseError,
} from "yaml";
import { InvalidInputError, type Issue, invalidInput } from "../core/errors.ts";
import { readTextFile, type TextFile } from "./read.ts";

export interface FileProblem extends Issue {
  /** From 1. Missing, like the column, if the problem has no place. */
  readonly line?: number;
  readonly column?: number;
  /** The invalid value, if it is short and the message does not repeat it. */
  readonly value?: string;
}

export interface InvalidFile {
  readonly ok: false;
  readonly kind: "unreadable" | "syntax" | "content";
  readonly problems: readonly FileProblem[];
}

export interface ParsedFile<T> {
  readonly ok: true;
  readonly value: T;
  readonly document: Document;
}

type Validate<T> = (
  content: unknown,
) => { readonly ok: true; readonly value: T } | { readonly ok: false; readonly issues: readonly Issue[] };

/** More than the largest mapping has. Each takes up to 3 KB, so that a limit of bytes alone would be none of memory. */
const MAX_TOKENS = 30_000;

export function readConfigFile<T>(
  path: string,
  validate: Validate<T>,
): (ParsedFile<T> & TextFile) | InvalidFile {
  const read = readTextFile(path);
  if (!read.ok) return { ok: false, kind: "unreadable", problems: [{ path: "", message: read.message }] };
  const parsed = parseConfig(read.text, validate);
  return parsed.ok ? { ...read, ...parsed } : parsed;
}

export function parseConfig<T>(text: string, validate: Validate<T>): ParsedFile<T> | InvalidFile {
  const lineCounter = new LineCounter();
  const positionAt = (offset: number | undefined) => {
    if (offset === undefined) return {};
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const failed = (...problems: readonly FileProblem[]) => ({ ok: false, kind: "syntax", problems }) as const;
  let tokens = 0;
  for (const _token of new Lexer().lex(text))
    if (++tokens > MAX_TOKENS) return failed({ path: "", message: `It has more than ${MAX_TOKENS} parts.` });
  // Warnings, such as one about an unknown tag, would be printed by Node.
  const options = { lineCounter, logLevel: "error", prettyErrors: false } as const;
  try {
    // Comments would keep the first character of a line end of Windows.
    const document: Document = parseDocument(text.replaceAll("\r\n", "\n"), options);
    checkKeys(document);
    const problems = document.errors.map(({ code, message, pos }) => {
      const isSecond = code === "MULTIPLE_DOCS";
      const fix = "There are several documents, separated by '---'. Keep one.";
      return { ...positionAt(pos[0]), path: "", message: isSecond ? fix : `${message}.` };
    });
    if (problems.length > 0) return failed(...problems);
    const validated = validate(document.toJS());
    if (validated.ok) return { ok: true, value: validated.value, document };
    const locate = (issue: Issue): FileProblem => ({
      ...positionAt(offsetOf(document, issue.path)),
      ...issue,
      ...shownValue(document, issue),
    });
    return { ok: false, kind: "content", problems: validated.issues.map(locate) };
  } catch (error) {
    // Aliases that multiply without end, or that name no anchor.
    return failed({ path: "", message: `${(error as Error).message}.` });
  }
}

/** Refuses a key that is no text, which the package writes as text in cubic time, and one that schemas skip. */
function checkKeys({ contents, errors }: Document): void {
  visit(contents, {
    Pair(_key, { key }) {
      const isText = isScalar(key) && key.value !== "__proto__";
      if (isText || !isNode(key) || key.range == null) return undefined;
      const [start] = key.range;
      errors.push(new YAMLParseError([start, start + 1], "BAD_COLLECTION_TYPE", "This cannot be a key"));
      return visit.BREAK;
    },
  });
}

const namesIn = (path: string) =>
  (path.match(/[^.[\]]+/g) ?? []).map((name) => (/^\d+$/.test(name) ? Number(name) : name));

/** That of the nearest ancestor, if nothing is at the path. */
function offsetOf(document: Document, path: string): number | undefined {
  const names = namesIn(path);
  for (let length = names.length; length >= 0; length--) {
    const node = document.getIn(names.slice(0, length), true);
    if (isNode(node) && node.range != null) return node.range[0];
  }
  return undefined;
}

function shownValue(document: Document, { path, message }: Issue): { readonly value?: string } {
  const value = path === "" ? undefined : document.getIn(namesIn(path));
  const isText = typeof value === "string" || typeof value === "number";
  if (!isText || message.includes(`'${value}'`)) return {};
  return { value: `${value}`.replace(/^(.{100}).+/su, "$1…") };
}

export function fileError(file: string, what: string, { kind, problems }: InvalidFile): InvalidInputError {
  const [first = { path: "", message: "" }] = problems;
  const { line, column } = first;
  const place = line === undefined ? "" : ` (line ${line}, column ${column})`;
  if (kind === "unreadable") {
    const isDenied = /\((?:EACCES|EPERM)\)/.test(first.message);
    const fix = isDenied
      ? "Let the user of this process read it, and enter its folders."
      : `Give the path of a ${what} file.`;
    return invalidInput(file, `${first.message} ${fix}`);
  }
  if (kind === "syntax")
    return invalidInput(file, `The file is neither YAML nor JSON${place}: ${first.message}`);
  const toIssue = ({ path, message, value }: FileProblem): Issue => ({
    path: [file, ...(path === "" ? [] : [path]), ...(value === undefined ? [] : [`'${value}'`])].join(": "),
    message,
  });
  return new InvalidInputError(problems.map(toIssue));
}
