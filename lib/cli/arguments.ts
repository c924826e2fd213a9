import { InvalidArgumentError, Option } from "commander";
import ms from "ms";
import { ACCOUNT_ID_RULE } from "../accounts/accounts.ts";
import { isAccountId } from "../accounts/api-key.ts";
import { InvalidInputError, type Issue, isInvalidInput } from "../core/errors.ts";
import { API_VERSION_PATH } from "../http/operations.ts";
import { parseInt64 } from "../orders/int64.ts";
import { PLANS } from "../plans/plan-limits.ts";

const PLAN = "the plan of the project; domains need pro or above (STORE_ORDERS_PLAN; default: free)";
export const planOption = () => new Option("--plan <plan>", PLAN).choices(PLANS);

export function readInt64(text: string): bigint {
  const hint = "Use an integer from -9223372036854775808 to 9223372036854775807, in plain digits.";
  return parseInt64(text) ?? invalid(hint);
}

export const readWholeNumber = readNumberBetween(0, Number.MAX_SAFE_INTEGER, ", in plain digits");

export function readNumberBetween(min: number, max: number, hint = ""): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : invalid(`Use a whole number from ${min} to ${max}${hint}.`);
  };
}

export function readAccountId(text: string): string {
  return isAccountId(text) ? text : invalid(ACCOUNT_ID_RULE);
}

/** Returns whole milliseconds. The unit is required, because a bare `24` is ambiguous. */
export function readDuration(text: string): number {
  const value = /^(?:0|\d+(?:\.\d+)? ?[a-z]+)$/i.test(text) ? ms(text as ms.StringValue) : undefined;
  if (value !== undefined && !Number.isNaN(value)) return Math.round(value);
  return invalid("Use a duration with a unit, such as 90m, 24h or 7d, or 0.");
}

/** A URL as it can be written into a header. */
export function readUrl(text: string): string {
  if (parseWebUrl(text) !== undefined) return text;
  return invalid("Use a URL with its scheme, such as https://docs.example.com.");
}

export function readBaseUrl(text: string): string {
  // Internationalised names in ASCII.
  const url = parseWebUrl(URL.parse(text.replace(/\/$/, ""))?.href ?? "");
  const isPlain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (isPlain && url.pathname.endsWith(API_VERSION_PATH)) return url.href;
  const example = `without a user, a query and a fragment, such as https://orders.example.com${API_VERSION_PATH}`;
  return invalid(`Use a URL with its scheme that ends with ${API_VERSION_PATH}, ${example}.`);
}

function parseWebUrl(text: string): URL | undefined {
  const url = /^[\x21-\x7e]+$/.test(text) && !/[<>"]/.test(text) ? URL.parse(text) : null;
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}

/** The name of a file to write. Elsewhere - is standard input. */
export function readOutputFile(text: string): string {
  return text === "-" ? invalid("Name a file.") : text;
}

export function each<T>(read: (text: string) => T): (text: string, previous?: readonly T[]) => readonly T[] {
  return (text, previous = []) => [...previous, read(text)];
}

export function checkedBy(findProblem: (text: string) => string | undefined): (text: string) => string {
  return (text) => {
    const problem = findProblem(text);
    return problem === undefined ? text : invalid(problem);
  };
}

export function invalid(hint: string): never {
  throw new InvalidArgumentError(hint);
}

/** An error of the validation then names a flag and its value, such as `--ship-date: 'soon' is invalid.` */
export function validateFlags<T>(flags: object, validate: () => T): T {
  try {
    return validate();
  } catch (error) {
    const values = new Map<string, unknown>(Object.entries(flags));
    throw mapIssues(error, ({ path, message }) => ({
      path: `--${path.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      message: values.has(path) ? `'${values.get(path)}' is invalid. ${message}` : message,
    }));
  }
}

export function nameFlags(error: unknown, flags: Readonly<Record<string, string>>): unknown {
  return mapIssues(error, ({ path, message }) => ({ path: flags[path] ?? path, message }));
}

function mapIssues(error: unknown, map: (issue: Issue) => Issue): unknown {
  return isInvalidInput(error) ? new InvalidInputError(error.issues.map(map)) : error;
}
