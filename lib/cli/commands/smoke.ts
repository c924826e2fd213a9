import type { Command } from "commander";
import { redactKeys } from "../../accounts/api-key.ts";
import { errorMessage, invalidInput } from "../../core/errors.ts";
import { ERRORS, type ErrorCode } from "../../http/errors.ts";
import { API_VERSION_PATH } from "../../http/operations.ts";
import { readBaseUrl, readInt64 } from "../arguments.ts";
import type { CommandContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { formatResults, printEither } from "../output.ts";

export function defineSmoke(command: Command, context: CommandContext): void {
  command
    .argument("<base-url>", `the base URL of the service, which ends with ${API_VERSION_PATH}`, readBaseUrl)
    .option("--key <key>", "an API key of a test account (STORE_ORDERS_KEY)")
    .option("--order <id>", "a pending order to cancel, twice (default: cancelling is not tested)", readInt64)
    .addHelpText("after", HELP)
    .action(async (baseUrl: string, { key: flag, order }: { key?: string; order?: bigint }) => {
      const key = readKey(flag ?? context.env["STORE_ORDERS_KEY"]);
      const checks: { check: string; ok: boolean; problems: readonly string[] }[] = [];
      let previous: Answer | undefined;
      for (const test of testsFor(key, order)) {
        let problems: readonly string[];
        try {
          const answer = await send(baseUrl, test);
          problems = findProblems(test, answer, previous);
          previous = answer;
        } catch (error) {
          const failure = errorMessage((error as { cause?: unknown }).cause ?? error);
          if (checks.length === 0) {
            const message = `${baseUrl}: ${failure}`;
            return context.fail({ code: "service_unreachable", message }, EXIT.unreachable);
          }
          problems = [`There was no response: ${failure}.`];
        }
        // A response can repeat the key that was sent.
        checks.push({ check: test.name, ok: problems.length === 0, problems: problems.map(redactKeys) });
      }
      const ok = checks.every((each) => each.ok);
      const rows = checks.map(({ check, ok: passed, problems: problem }) => {
        return { check, result: passed ? "ok" : "failed", problem };
      });
      const text = () => formatResults(["check", "result", "problem"], rows);
      await printEither(context, { baseUrl, ok, checks }, text);
      if (!ok) context.exit(EXIT.failed);
    });
}

/** The error does not repeat the key, which is a secret. */
function readKey(key: string | undefined): string {
  if (key !== undefined && /^[\x21-\x7e]+$/.test(key)) return key;
  const message = "Give an API key with --key or in STORE_ORDERS_KEY; 'keys issue' prints one.";
  throw invalidInput("--key", message);
}

interface Test {
  readonly name: string;
  readonly method?: "GET" | "DELETE";
  readonly path: string;
  readonly key?: string;
  readonly status: number;
  readonly code?: ErrorCode;
  readonly headers?: Readonly<Record<string, RegExp>>;
  findProblem?(answer: Answer, previous: Answer | undefined): string | undefined;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** No key has this form, so it belongs to no account and can ban none. */
const WRONG_KEY = "store-orders-smoke-test";

function testsFor(key: string, order: bigint | undefined): readonly Test[] {
  const list = { path: "/store/orders", key, status: 200 };
  const challenge = { "x-request-id": /./, "www-authenticate": /^Bearer\b/i };
  const tests: readonly Test[] = [
    { name: "list", ...list, headers: { "content-type": /^application\/json\b/ }, findProblem: findUnclosed },
    { name: "headers", ...list, headers: LIST_HEADERS },
    { name: "limits", ...list, findProblem: findUncounted },
    { name: "no key", path: list.path, ...error("missing_api_key"), headers: challenge },
    { name: "wrong key", path: list.path, key: WRONG_KEY, ...error("invalid_api_key") },
    { name: "readiness", path: "/../readyz", status: 200 },
  ];
  if (order === undefined) return tests;
  const cancel = { method: "DELETE", path: `${list.path}/${order}`, key } as const;
  return [
    ...tests,
    { name: "cancel", ...cancel, status: 204 },
    { name: "cancel again", ...cancel, ...error("order_already_cancelled") },
  ];
}

const LIST_HEADERS = {
  "x-request-id": /./,
  "cache-control": /\bno-store\b/,
  "x-ratelimit-limit": /^\d+$/,
  "x-ratelimit-remaining": /^\d+$/,
  "x-ratelimit-reset": /^\d{10,}$/,
};

function error(code: ErrorCode) {
  return { status: ERRORS[code].status, code, headers: { "x-request-id": /./ } };
}

function findUnclosed({ text }: Answer): string | undefined {
  if (!text.startsWith("[")) return "The body does not begin like a JSON array.";
  return text.endsWith("]") ? undefined : "The body ends before the end of the JSON array.";
}

/** The second of two requests with the same key is counted, unless a new window has begun. */
function findUncounted(second: Answer, first: Answer | undefined): string | undefined {
  const [reset, nextReset] = [first, second].map((answer) => answer?.headers.get("x-ratelimit-reset"));
  const [before, after] = [first, second].map((answer) => answer?.headers.get("x-ratelimit-remaining"));
  if (reset !== nextReset || Number(after) < Number(before)) return undefined;
  return `The second request was not counted: X-RateLimit-Remaining went from ${before} to ${after}.`;
}

const MAX_RESPONSE_MS = 30_000;

/** Sends a request and reads the whole response. Redirects are not followed, because they would receive the key. */
async function send(baseUrl: string, { method = "GET", path, key }: Test): Promise<Answer> {
  const response = await fetch(`${baseUrl}${path}`, {
    ...{ method, redirect: "manual", signal: AbortSignal.timeout(MAX_RESPONSE_MS) },
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function findProblems(test: Test, answer: Answer, previous: Answer | undefined): readonly string[] {
  const { status, code, headers = {}, findProblem } = test;
  if (answer.status !== status) {
    const detail = codeOf(answer) ?? answer.headers.get("location") ?? "";
    return [`The status is ${answer.status}${detail && ` (${detail})`}, expected ${status}.`];
  }
  const problems = Object.entries(headers).flatMap(([name, pattern]) => {
    // API Gateway may rename a header.
    const value = answer.headers.get(name) ?? answer.headers.get(`x-amzn-remapped-${name}`);
    if (value === null) return [`The header ${name} is missing.`];
    return pattern.test(value) ? [] : [`The header ${name} is ${JSON.stringify(value)}.`];
  });
  if (code !== undefined && codeOf(answer) !== code)
    problems.unshift(`The code is ${codeOf(answer)}, expected ${code}.`);
  const further = findProblem?.(answer, previous);
  return further === undefined ? problems : [...problems, further];
}

function codeOf({ text }: Answer): string | undefined {
  try {
    const { code } = Object(JSON.parse(text)) as { code?: unknown };
    return typeof code === "string" ? code : undefined;
  } catch {
    return undefined;
  }
}

const HELP = `
Exits with 1 if anything is wrong, with 3 if the service cannot be reached.

Examples:
  $ ORDER=$(store-orders orders place --dynamodb orders --json | jq .id)
  $ STORE_ORDERS_KEY="$KEY" store-orders smoke "$(pulumi stack output baseUrl)" --order "$ORDER" --json`;
