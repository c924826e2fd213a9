import { type Command, Option } from "commander";
import { redactKeys } from "../../accounts/api-key.ts";
import { errorMessage, invalidInput } from "../../core/errors.ts";
import { escapeControls } from "../../core/text.ts";
import { ERRORS, type ErrorCode } from "../../http/errors.ts";
import { API_VERSION_PATH } from "../../http/operations.ts";
import { invalid, readDuration, readInt64 } from "../arguments.ts";
import type { CommandContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { formatResults, printJson } from "../output.ts";

/** `smoke`: tests a deployed service from the outside. */
export function defineSmoke(command: Command, context: CommandContext): void {
  command
    .argument("<base-url>", `the base URL of the service, which ends with ${API_VERSION_PATH}`)
    .option("--key <key>", "an API key of a test account (STORE_ORDERS_KEY)")
    .option("--order <id>", "a pending order to cancel, twice (default: cancelling is not tested)", readInt64)
    .addOption(
      new Option("--timeout <duration>", "the limit for each response")
        .argParser(readTimeout)
        .default(30_000, "30s"),
    )
    .addHelpText("after", HELP)
    .action(async (url: string, { key: flag, order, timeout }: SmokeFlags) => {
      const baseUrl = readBaseUrl(url);
      const key = readKey(flag ?? context.env["STORE_ORDERS_KEY"]);
      const send: Send = (method, path, bearer) => sendRequest(method, `${baseUrl}${path}`, bearer, timeout);
      const first = await send("GET", ORDERS, key);
      if ("failure" in first) {
        const message = `${baseUrl}: ${first.failure}`;
        return context.fail({ code: "service_unreachable", message }, EXIT.unreachable);
      }
      const checks = await runChecks(first, send, key, order);
      const ok = checks.every((each) => each.ok);
      if (context.flags.json) await printJson(context, { baseUrl, ok, checks });
      else {
        const rows = checks.map((each) => ({
          check: each.check,
          result: each.ok ? "ok" : "failed",
          problem: each.problems.map(escapeControls),
        }));
        await context.terminal.print(formatResults(["check", "result", "problem"], rows));
      }
      if (!ok) context.exit(EXIT.failed);
    });
}

interface SmokeFlags {
  readonly key?: string;
  readonly order?: bigint;
  readonly timeout: number;
}

const MAX_TIMEOUT_MS = 3_600_000;

function readTimeout(text: string): number {
  const timeoutMs = readDuration(text);
  if (timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  return invalid("Use a duration from 1ms to 1h, such as 30s.");
}

function readBaseUrl(text: string): string {
  const url = URL.parse(text);
  const path = url?.pathname.replace(/\/$/, "");
  if (url?.protocol.match(/^https?:$/) && path?.endsWith(API_VERSION_PATH)) return `${url.origin}${path}`;
  const message = `Give the base URL of the service, such as https://orders.example.com${API_VERSION_PATH}.`;
  throw invalidInput("base-url", message);
}

/** The error does not repeat the key, which is a secret. */
function readKey(key: string | undefined): string {
  if (key !== undefined && /^[\x21-\x7e]+$/.test(key)) return key;
  const message = "Give an API key with --key or in STORE_ORDERS_KEY; 'keys issue' prints one.";
  throw invalidInput("--key", message);
}

const ORDERS = "/store/orders";

/** No key has this form, so it belongs to no account and can ban none. */
const WRONG_KEY = "store-orders-smoke-test";

/** Sends a request to a path below the base URL, with an API key if one is given. */
type Send = (method: "GET" | "DELETE", path: string, key?: string) => Promise<Answer | NoAnswer>;

interface SmokeCheck {
  readonly check: string;
  readonly ok: boolean;
  /** Empty if the response is as expected. */
  readonly problems: readonly string[];
}

interface Expectation {
  readonly status?: number;
  readonly code?: ErrorCode;
  readonly headers?: Readonly<Record<string, RegExp>>;
  also?(answer: Answer): string | undefined;
}

/** Checks the response to the first request for the list, and those to further requests. */
async function runChecks(
  first: Answer,
  send: Send,
  key: string,
  order: bigint | undefined,
): Promise<readonly SmokeCheck[]> {
  const checks: SmokeCheck[] = [];
  const check = (name: string, answer: Answer | NoAnswer, expected: Expectation) => {
    const problems =
      "failure" in answer ? [`There was no response: ${answer.failure}.`] : compare(answer, expected);
    // A response can repeat the key that was sent.
    checks.push({ check: name, ok: problems.length === 0, problems: problems.map(redactKeys) });
  };
  check("list", first, LIST);
  check("headers", first, RATE_LIMIT_HEADERS);
  check("limits", await send("GET", ORDERS, key), { also: (second) => findUncounted(first, second) });
  check("no key", await send("GET", ORDERS), { ...error("missing_api_key"), also: findNoChallenge });
  check("wrong key", await send("GET", ORDERS, WRONG_KEY), error("invalid_api_key"));
  check("readiness", await send("GET", "/../readyz"), { status: 200 });
  if (order === undefined) return checks;
  const cancel = () => send("DELETE", `${ORDERS}/${order}`, key);
  check("cancel", await cancel(), { status: 204 });
  check("cancel again", await cancel(), error("order_already_cancelled"));
  return checks;
}

const LIST: Expectation = {
  status: 200,
  headers: { "content-type": /^application\/json\b/ },
  also({ text, lastCharacter }) {
    if (!text.startsWith("[")) return "The body does not begin like a JSON array.";
    return lastCharacter === "]" ? undefined : "The body ends before the end of the JSON array.";
  },
};

const RATE_LIMIT_HEADERS: Expectation = {
  headers: {
    "x-request-id": /./,
    "cache-control": /\bno-store\b/,
    "x-ratelimit-limit": /^\d+$/,
    "x-ratelimit-remaining": /^\d+$/,
    "x-ratelimit-reset": /^\d{10,}$/,
  },
  also(answer) {
    const [limit, remaining] = [numberIn(answer, "x-ratelimit-limit"), numberIn(answer, REMAINING)];
    if (!(remaining > limit)) return undefined;
    return `X-RateLimit-Remaining is ${remaining}, above X-RateLimit-Limit, ${limit}.`;
  },
};

const REMAINING = "x-ratelimit-remaining";

/** The second of two requests with the same key was counted, unless a new window has begun. */
function findUncounted(first: Answer, second: Answer): string | undefined {
  const [before, after] = [numberIn(first, REMAINING), numberIn(second, REMAINING)];
  const [reset, nextReset] = [first, second].map(({ headers }) => headers.get("x-ratelimit-reset"));
  if (reset !== nextReset || after < before) return undefined;
  return `The second request was not counted: X-RateLimit-Remaining went from ${before} to ${after}.`;
}

/** A 401 names the authentication scheme. API Gateway may rename the header. */
function findNoChallenge({ headers }: Answer): string | undefined {
  const challenge = headers.get("www-authenticate") ?? headers.get("x-amzn-remapped-www-authenticate");
  return /^Bearer\b/i.test(challenge ?? "") ? undefined : "WWW-Authenticate does not begin with Bearer.";
}

function error(code: ErrorCode): Expectation {
  return { status: ERRORS[code].status, code, headers: { "x-request-id": /./ } };
}

function compare(answer: Answer, { status, code, headers = {}, also }: Expectation): readonly string[] {
  const found = codeOf(answer);
  if (status !== undefined && answer.status !== status) {
    const location = answer.headers.get("location");
    const detail = location === null ? (found === "none" ? "" : ` (${found})`) : ` to ${location}`;
    return [`The status is ${answer.status}${detail}, expected ${status}.`];
  }
  const wrong = Object.entries(headers).flatMap(([name, pattern]) => {
    const value = answer.headers.get(name);
    if (value === null) return [`The header ${name} is missing.`];
    return pattern.test(value) ? [] : [`The header ${name} is ${JSON.stringify(value)}.`];
  });
  const wrongCode = code === undefined || found === code ? [] : [`The code is ${found}, expected ${code}.`];
  return [...wrongCode, ...wrong, ...[also?.(answer)].filter((problem) => problem !== undefined)];
}

function numberIn({ headers }: Answer, name: string): number {
  return Number(headers.get(name) ?? Number.NaN);
}

function codeOf({ text }: Answer): string {
  try {
    const { code } = Object(JSON.parse(text)) as { code?: unknown };
    return typeof code === "string" ? code : "none";
  } catch {
    return "none";
  }
}

/** A response, with as much of its body as a check needs: a list can have any length. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The beginning of the body, at most `MAX_TEXT_CHARS`. */
  readonly text: string;
  readonly lastCharacter: string;
}

interface NoAnswer {
  readonly failure: string;
}

const MAX_TEXT_CHARS = 10_000;

/** Sends a request and reads the whole response. Redirects are not followed, because they would receive the key. */
async function sendRequest(
  method: string,
  url: string,
  key: string | undefined,
  timeoutMs: number,
): Promise<Answer | NoAnswer> {
  try {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method, redirect: "manual", signal, headers: authorization });
    const { status, headers, body } = response;
    let text = "";
    let lastCharacter = "";
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      if (text.length < MAX_TEXT_CHARS) text += chunk;
      lastCharacter = chunk.at(-1) ?? lastCharacter;
    }
    return { status, headers, text: text.slice(0, MAX_TEXT_CHARS), lastCharacter };
  } catch (error) {
    return { failure: errorMessage((error as { cause?: unknown }).cause ?? error) };
  }
}

const HELP = `
Examples:
  $ ORDER=$(store-orders orders place --dynamodb orders --json | jq .id)
  $ STORE_ORDERS_KEY="$KEY" store-orders smoke "$(pulumi stack output baseUrl)" --order "$ORDER" --json`;
