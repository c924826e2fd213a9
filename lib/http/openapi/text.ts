import { ERRORS, type ErrorCode } from "../../errors.ts";
import { PLAN_LIMITS } from "../../plans/plan-limits.ts";
import { BASE_PATH, type Operation } from "../operations.ts";

/** What is answered before an operation is found, and therefore by none of them. */
const BEFORE_ANY_OPERATION = [
  "bad_request",
  "forbidden",
  "route_not_found",
  "method_not_allowed",
  "request_timeout",
  "request_too_large",
  "uri_too_long",
  "expectation_failed",
  "misdirected_request",
  "headers_too_large",
  "gateway_timeout",
] as const satisfies readonly ErrorCode[];

/** What holds for every operation, as Markdown. */
export const DESCRIPTION = `Paths hang under \`${BASE_PATH}\`. \`HEAD\` works wherever \`GET\` does.

## Keys

Every call needs an API key as a bearer token: \`Authorization: Bearer <API_KEY>\`.

## Limits

The plan of an account limits its requests in each minute and each day of UTC.

${table(
  ["Plan", "Requests per minute", "Requests per day"],
  Object.entries(PLAN_LIMITS).map(([plan, limits]) =>
    limits === "custom" ? [plan, "agreed", "agreed"] : [plan, `${limits.perMinute}`, `${limits.perDay}`],
  ),
)}

Every response tells the limit that binds in \`X-RateLimit-Limit\`, what is left of it in
\`X-RateLimit-Remaining\`, and when it resets, in Unix seconds, in \`X-RateLimit-Reset\`. After a 429 wait for
\`Retry-After\` and use exponential backoff: a key that goes on instead is banned for a while.

## Integers

\`id\` and \`petId\` are int64, sent as JSON numbers with all their digits. Many JSON parsers read a number as a
double and change what lies beyond 9007199254740991: use one that does not.

## Errors

An error response has the Error body. Besides those of the operations, a request can be answered with one of
these before an operation is found for it:

${table(
  ["Status", "Code", "Meaning"],
  BEFORE_ANY_OPERATION.map((code) => [`${ERRORS[code].status}`, `\`${code}\``, ERRORS[code].message]),
)}
`;

/** An operation's description with what its stability and its deprecation mean for those who call it. */
export function describeOperation({ description, stability, deprecation }: Operation): string {
  const notes = [
    ...(stability === undefined ? [] : [`This operation is ${stability}: it may still change.`]),
    ...(deprecation === undefined
      ? []
      : [
          `Deprecated since ${day(deprecation.since)}; from ${day(deprecation.sunset)} on it answers 410. ` +
            `[What to do](${deprecation.link})`,
        ]),
  ];
  return [description, ...notes].join("\n\n");
}

function day(instant: string): string {
  return new Date(instant).toISOString().slice(0, 10);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
