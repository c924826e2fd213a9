/** Files that others edit while a server runs: read and parsed in bounded time, whatever has taken their place. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { type Document, isScalar, LineCounter, parseDocument, visit, YAMLParseError } from "yaml";
import { type Issue, invalidInput } from "../core/errors.ts";

/** A problem of a file, with its position. */
export interface FileProblem extends Issue {
  /** From 1. Missing, like the column, if the problem has no place. */
  readonly line?: number;
  readonly column?: number;
}

/** More than the domains of a project need. A file that is wrong everywhere takes longest, and must not stop a server for long. */
const MAX_BYTES = 256 * 1024;

/** Reads a file. A pipe, a device and a huge file are not read: they throw an `InvalidInputError`. */
export function readBounded(path: string): Buffer {
  // Opening a named pipe would wait for its writer.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw invalidInput("", "This is not a file.");
    if (found.size > MAX_BYTES) throw invalidInput("", "The file is larger than 256 KiB.");
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Parses YAML or JSON. Returns its document and content, or every problem. */
export function parseYaml(text: string) {
  const lineCounter = new LineCounter();
  const positionAt = (offset: number | undefined) => {
    if (offset === undefined) return {};
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const failed = (problems: readonly FileProblem[]) => ({ ok: false, problems }) as const;
  // The package would compare each key with every other. Warnings, such as one about an unknown tag, would be printed by Node.
  const options = { lineCounter, logLevel: "error", prettyErrors: false, uniqueKeys: false } as const;
  try {
    const document: Document = parseDocument(text, options);
    findDuplicateKeys(document);
    const problems = document.errors.map(({ code, message, pos }) => {
      const isSecond = code === "MULTIPLE_DOCS";
      const fix = "There are several documents, separated by '---'. Keep one.";
      return { ...positionAt(pos[0]), path: "", message: isSecond ? fix : `${message}.` };
    });
    if (problems.length > 0) return failed(problems);
    return { ok: true, document, content: document.toJS() as unknown, positionAt } as const;
  } catch (error) {
    // Aliases that multiply without end, or that name no anchor.
    return failed([{ path: "", message: `${(error as Error).message}.` }]);
  }
}

/** Adds an error for each key that its mapping has already. */
function findDuplicateKeys({ contents, errors }: Document): void {
  visit(contents, {
    Map(_key, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key) || key.range == null) continue;
        const [start] = key.range;
        if (seen.has(key.value))
          errors.push(new YAMLParseError([start, start + 1], "DUPLICATE_KEY", "Map keys must be unique"));
        seen.add(key.value);
      }
    },
  });
  errors.sort((a, b) => a.pos[0] - b.pos[0]);
}
