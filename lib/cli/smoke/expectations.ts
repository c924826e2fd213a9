import { ERRORS, type ErrorCode } from "../../errors.ts";
import type { Answer } from "./answer.ts";

/** What is wrong with a response; nothing if it is as expected. */
export type Problems = readonly string[];

/** The list of orders: complete JSON, with every header. */
export function expectList(answer: Answer): Problems {
  if (answer.status !== 200) return [describeStatus(answer, 200)];
  return [
    ...expectHeader(answer, "content-type", /^application\/json\b/),
    ...(answer.text.startsWith("[") ? [] : ["The body does not begin like a JSON array."]),
    ...(answer.lastCharacter === "]" ? [] : ["The body ends before the end of the JSON array."]),
  ];
}

/** The headers that every API response carries. */
export function expectHeaders(answer: Answer): Problems {
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
export function expectCounted(first: Answer, second: Answer): Problems {
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
export function expectError(answer: Answer, code: ErrorCode): Problems {
  const { status } = ERRORS[code];
  if (answer.status !== status) return [describeStatus(answer, status)];
  const found = codeOf(answer);
  return [
    ...(found === code ? [] : [`The code is ${found}, expected ${code}.`]),
    ...expectHeader(answer, "x-request-id", /./),
  ];
}

/** A 401 names the authentication scheme. API Gateway may rename the header. */
export function expectChallenge(answer: Answer): Problems {
  const challenge =
    answer.headers.get("www-authenticate") ?? answer.headers.get("x-amzn-remapped-www-authenticate");
  return /^Bearer\b/i.test(challenge ?? "") ? [] : ["WWW-Authenticate does not begin with Bearer."];
}

export function expectStatus(answer: Answer, expected: number): Problems {
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
