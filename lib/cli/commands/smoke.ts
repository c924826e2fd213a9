import type { Command } from "commander";
import { redactKeys } from "../../accounts/api-key.ts";
import { errorMessage, invalidInput } from "../../core/errors.ts";
import { escapeControls } from "../../core/text.ts";
import { ERRORS, type ErrorCode } from "../../http/errors.ts";
import { BASE_PATH } from "../../http/operations.ts";
import { invalid, readDuration, readInt64 } from "../arguments.ts";
import type { CommandContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { formatResults, printJson } from "../output.ts";

/** `smoke`: tests a deployed service from the outside. */
export function defineSmoke(command: Command, context: CommandContext): void {
  command
    .argument("<base-url>", `the base URL of the service, which ends with ${BASE_PATH}`)
    .option("--key <key>", "an API key of a test account (STORE_ORDERS_KEY)")
    .option("--order <id>", "a pending order to cancel, twice (default: cancelling is not tested)", readInt64)
    .option("--timeout <duration>", "the limit for each response (default: 30s)", readTimeout)
    .addHelpText("after", HELP)
    .action(async (url: string, flags: SmokeFlags) => {
      const baseUrl = readBaseUrl(url);
      const key = readKey(flags.key ?? context.env["STORE_ORDERS_KEY"]);
      const timeoutMs = flags.timeout ?? DEFAULT_TIMEOUT_MS;
      const send: Send = (method, path, bearer) =>
        sendRequest(method, `${baseUrl}${path}`, bearer, timeoutMs);
      const first = await send("GET", ORDERS, key);
      if (!first.ok) {
        const message = `${baseUrl}: ${first.message}`;
        return context.fail({ code: "service_unreachable", message }, EXIT.unreachable);
      }
      const checks = await runChecks(first.answer, send, key, flags.order);
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
  readonly timeout?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;

function readTimeout(text: string): number {
  const timeoutMs = readDuration(text);
  if (timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  return invalid("Use a duration from 1ms to 1h, such as 30s.");
}

function readBaseUrl(text: string): string {
  const url = URL.parse(text);
  const path = url?.pathname.replace(/\/$/, "");
  if (url?.protocol.match(/^https?:$/) && path?.endsWith(BASE_PATH)) return `${url.origin}${path}`;
  const message = `Give the base URL of the service, such as https://orders.example.com${BASE_PATH}.`;
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
type Send = (method: "GET" | "DELETE", path: string, key?: string) => Promise<SmokeResult>;

/** The result of one check. */
interface SmokeCheck {
  readonly check: string;
  readonly ok: boolean;
  /** Empty if the response is as expected. */
  readonly problems: Problems;
}

/** Checks the response to the first request for the list, and those to further requests. */
async function runChecks(
  first: Answer,
  send: Send,
  key: string,
  order: bigint | undefined,
): Promise<readonly SmokeCheck[]> {
  const checks: SmokeCheck[] = [];
  const check = (name: string, result: SmokeResult, expect: (answer: Answer) => Problems) => {
    const found = result.ok ? expect(result.answer) : [`There was no response: ${result.message}.`];
    // A response can repeat the key that was sent.
    checks.push({ check: name, ok: found.length === 0, problems: found.map(redactKeys) });
  };
  check("list", { ok: true, answer: first }, expectList);
  check("headers", { ok: true, answer: first }, expectHeaders);
  check("limits", await send("GET", ORDERS, key), (second) => expectCounted(first, second));
  check("no key", await send("GET", ORDERS), (answer) => [
    ...expectError(answer, "missing_api_key"),
    ...expectChallenge(answer),
  ]);
  check("wrong key", await send("GET", ORDERS, WRONG_KEY), (answer) =>
    expectError(answer, "invalid_api_key"),
  );
  check("readiness", await send("GET", "/../readyz"), (answer) => expectStatus(answer, 200));
  if (order === undefined) return checks;
  const cancel = () => send("DELETE", `${ORDERS}/${order}`, key);
  check("cancel", await cancel(), (answer) => expectStatus(answer, 204));
  check("cancel again", await cancel(), (answer) => expectError(answer, "order_already_cancelled"));
  return checks;
}

/** The differences between a response and the expected one. */
type Problems = readonly string[];

/** The list of orders: complete JSON, with every header. */
function expectList(answer: Answer): Problems {
  if (answer.status !== 200) return [describeStatus(answer, 200)];
  return [
    ...expectHeader(answer, "content-type", /^application\/json\b/),
    ...(answer.text.startsWith("[") ? [] : ["The body does not begin like a JSON array."]),
    ...(answer.lastCharacter === "]" ? [] : ["The body ends before the end of the JSON array."]),
  ];
}

/** The headers that every API response carries. */
function expectHeaders(answer: Answer): Problems {
  const [limit, remaining] = ["x-ratelimit-limit", "x-ratelimit-remaining"].map((name) =>
    Number(answer.headers.get(name) ?? Number.NaN),
  ) as [number, number];
  return [
    ...expectHeader(answer, "x-request-id", /./),
    ...expectHeader(answer, "cache-control", /\bno-store\b/),
    ...expectHeader(answer, "x-ratelimit-limit", /^\d+$/),
    ...expectHeader(answer, "x-ratelimit-remaining", /^\d+$/),
    ...expectHeader(answer, "x-ratelimit-reset", /^\d{10,}$/),
    ...(remaining > limit
      ? [`X-RateLimit-Remaining is ${remaining}, above X-RateLimit-Limit, ${limit}.`]
      : []),
  ];
}

/** The second of two responses to the same key: its request was counted, unless a new window has begun. */
function expectCounted(first: Answer, second: Answer): Problems {
  const [before, after] = [first, second].map(({ headers }) => ({
    remaining: Number(headers.get("x-ratelimit-remaining") ?? Number.NaN),
    reset: headers.get("x-ratelimit-reset"),
  }));
  if (before === undefined || after === undefined || before.reset !== after.reset) return [];
  if (after.remaining < before.remaining) return [];
  return [
    `The second request was not counted: X-RateLimit-Remaining went from ${before.remaining} to ${after.remaining}.`,
  ];
}

/** An Error body with a code, and the status of that code. */
function expectError(answer: Answer, code: ErrorCode): Problems {
  const { status } = ERRORS[code];
  if (answer.status !== status) return [describeStatus(answer, status)];
  const found = codeOf(answer);
  return [
    ...(found === code ? [] : [`The code is ${found}, expected ${code}.`]),
    ...expectHeader(answer, "x-request-id", /./),
  ];
}

/** A 401 names the authentication scheme. API Gateway may rename the header. */
function expectChallenge(answer: Answer): Problems {
  const challenge =
    answer.headers.get("www-authenticate") ?? answer.headers.get("x-amzn-remapped-www-authenticate");
  return /^Bearer\b/i.test(challenge ?? "") ? [] : ["WWW-Authenticate does not begin with Bearer."];
}

function expectStatus(answer: Answer, expected: number): Problems {
  return answer.status === expected ? [] : [describeStatus(answer, expected)];
}

function expectHeader({ headers }: Answer, name: string, pattern: RegExp): Problems {
  const value = headers.get(name);
  if (value === null) return [`The header ${name} is missing.`];
  return pattern.test(value) ? [] : [`The header ${name} is ${JSON.stringify(value)}.`];
}

function describeStatus(answer: Answer, expected: number): string {
  const code = codeOf(answer);
  const location = answer.headers.get("location");
  const detail = location === null ? (code === "none" ? "" : ` (${code})`) : ` to ${location}`;
  return `The status is ${answer.status}${detail}, expected ${expected}.`;
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

/** A response, or the reason why there is none. */
type SmokeResult =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly message: string };

const MAX_TEXT_CHARS = 10_000;

/** Sends a request and reads the whole response. Redirects are not followed, because they would receive the key. */
async function sendRequest(
  method: string,
  url: string,
  key: string | undefined,
  timeoutMs: number,
): Promise<SmokeResult> {
  try {
    const response = await fetch(url, {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      ...(key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }),
    });
    return { ok: true, answer: await read(response) };
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    return { ok: false, message: errorMessage(cause ?? error) };
  }
}

async function read({ status, headers, body }: Response): Promise<Answer> {
  let text = "";
  let lastCharacter = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (text.length < MAX_TEXT_CHARS) text += chunk;
    lastCharacter = chunk.at(-1) ?? lastCharacter;
  }
  return { status, headers, text: text.slice(0, MAX_TEXT_CHARS), lastCharacter };
}

const HELP = `
Examples:
  $ store-orders smoke https://orders.example.com/v1 --key "$KEY"
  $ ORDER=$(store-orders orders place --dynamodb orders --json | jq .id)
  $ STORE_ORDERS_KEY="$KEY" store-orders smoke "$(pulumi stack output baseUrl)" --order "$ORDER" --json`;
