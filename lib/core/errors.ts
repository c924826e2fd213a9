/** An outcome that a caller branches on, returned as data. What a caller can only retry or abort on is thrown. */
export interface Failure<Code extends string> {
  readonly ok: false;
  readonly code: Code;
}

/** The base class of everything that this library throws. */
export abstract class StoreOrdersError extends Error {
  abstract readonly code: string;
  /** True if the same call can succeed later, false if the caller has to change something first. */
  abstract readonly retryable: boolean;
}

/** The store is unreachable, did not respond in time, or cannot be used. A write may have been applied nevertheless. */
export class StoreUnavailableError extends StoreOrdersError {
  override readonly name = "StoreUnavailableError";
  readonly code = "store_unavailable";
  readonly retryable: boolean;

  constructor(message?: string, { retryable = true, ...options }: StoreUnavailableOptions = {}) {
    super(message, options);
    this.retryable = retryable;
  }
}

/** Options of a `StoreUnavailableError`. */
export interface StoreUnavailableOptions {
  readonly cause?: unknown;
  /** @default true */
  readonly retryable?: boolean;
}

/** The database was written by a newer version of store-orders. It has not been changed. */
export class NewerSchemaError extends StoreOrdersError {
  override readonly name = "NewerSchemaError";
  readonly code = "newer_schema";
  readonly retryable = false;
}

/** One problem with an input: the field, and what to write instead. */
export interface Issue {
  /** The field, as a path such as `shipDate` or `domains.redirects[0].from`. Empty for the input as a whole. */
  readonly path: string;
  /** A sentence, with its full stop. */
  readonly message: string;
}

/** An input is invalid. Carries every issue, not just the first. */
export class InvalidInputError extends StoreOrdersError {
  override readonly name = "InvalidInputError";
  readonly code = "invalid_input";
  readonly retryable = false;
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(explainIssues(issues));
    this.issues = issues;
  }
}

export function invalidInput(path: string, message: string): InvalidInputError {
  return new InvalidInputError([{ path, message }]);
}

/** True for a `StoreUnavailableError`, also one from another copy of this package. */
export function isStoreUnavailable(error: unknown): error is StoreUnavailableError {
  return hasCode(error, "store_unavailable");
}

/** True for an `InvalidInputError`, also one from another copy of this package. */
export function isInvalidInput(error: unknown): error is InvalidInputError {
  return hasCode(error, "invalid_input");
}

/** True for a `NewerSchemaError`, also one from another copy of this package. */
export function isNewerSchema(error: unknown): error is NewerSchemaError {
  return hasCode(error, "newer_schema");
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** All issues in one line. */
export function explainIssues(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join(" ");
}

/** An error's message with those of its causes, to the last one, for people. Never a stack trace. */
export function errorMessage(error: unknown): string {
  const chain = new Set<Error>();
  for (let next = error; next instanceof Error && !chain.has(next); next = next.cause) chain.add(next);
  const messages = [...chain].map(ownMessage);
  // An error that repeats its cause says nothing more.
  const [message = "unknown", ...causes] = messages.filter(
    (text, index) => !messages.slice(0, index).some((earlier) => earlier.includes(text)),
  );
  return causes.length === 0 ? message : `${message} (${causes.join(": ").replaceAll(".: ", ". ")})`;
}

/** The message of an error without its causes. That of several addresses that all refuse a connection has none. */
export function ownMessage(error: unknown): string {
  const of = error instanceof AggregateError ? [...new Set(error.errors.map(ownMessage))].join(", ") : "";
  return (error instanceof Error && (error.message || of || error.name)) || "unknown";
}

/** The part of a schema error (zod) that an `Issue` is made from, so that this file needs no schema library. */
interface SchemaIssue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** The unknown keys of an `unrecognized_keys` error. */
  readonly keys?: readonly string[];
}

/** Converts a schema error to issues, one for each unknown key. `keysAt` returns the allowed keys at a path. */
export function toIssues(
  { code, path, message, keys = [] }: SchemaIssue,
  keysAt: (path: readonly PropertyKey[]) => readonly string[],
): readonly Issue[] {
  if (code !== "unrecognized_keys")
    return [{ path: formatPath(path), message: /[.!?]$/.test(message) ? message : `${message}.` }];
  const allowed = keysAt(path);
  const fix = allowed.length === 0 ? "Remove it." : `Remove it, or use one of: ${allowed.join(", ")}.`;
  return keys.map((key) => {
    const similar = similarTo(key, allowed);
    const meant = similar === undefined ? fix : `Did you mean '${similar}'? Otherwise remove it.`;
    return { path: formatPath([...path, key]), message: `Unknown key. ${meant}` };
  });
}

export function formatPath(path: readonly PropertyKey[]): string {
  const parts = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`));
  return parts.join("").replace(/^\./, "");
}

/** Without types, a mistyped option would have no effect. `within` is the path of the options, such as `openapi.`. */
export function assertOptions(options: object | undefined, names: readonly string[], within = ""): void {
  const unknown = Object.keys(options ?? {}).filter((name) => !names.includes(name));
  const issues = unknown.map((name) => {
    const similar = similarTo(name, names);
    const fix = similar === undefined ? `Use one of: ${names.join(", ")}.` : `Did you mean '${similar}'?`;
    return { path: within + name, message: `There is no option of this name. ${fix}` };
  });
  if (issues.length > 0) throw new InvalidInputError(issues);
}

/** The known name that a mistyped one is most like: with at most two wrong characters, or the same beginning. */
function similarTo(name: string, known: readonly string[]): string | undefined {
  const text = name.slice(0, 40).toLowerCase();
  const [nearest] = known
    .map((each) => ({ each, errors: editDistance(text, each.toLowerCase()) }))
    .sort((one, other) => one.errors - other.errors);
  if (nearest !== undefined && nearest.errors <= 2 && nearest.errors * 2 <= text.length) return nearest.each;
  return text.length < 3 ? undefined : known.find((each) => each.toLowerCase().startsWith(text.slice(0, 4)));
}

/** Levenshtein's distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [above, char] of [...from].entries()) {
    const next = [above + 1];
    for (let at = 0; at < to.length; at++) {
      const replaced = (row[at] ?? 0) + (char === to[at] ? 0 : 1);
      next.push(Math.min((next[at] ?? 0) + 1, (row[at + 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
