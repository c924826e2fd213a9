import { ERRORS, type ErrorCode } from "../../errors.ts";
import { PLAN_LIMITS, type PlanTable } from "../../plans/plan-limits.ts";
import { BASE_PATH, type Operation } from "../operations.ts";

/** Errors that are returned before an operation is found, so that no operation lists them. */
const BEFORE_ANY_OPERATION = [
  "bad_request",
  "forbidden",
  "route_not_found",
  "method_not_allowed",
  "not_acceptable",
  "request_timeout",
  "request_too_large",
  "uri_too_long",
  "expectation_failed",
  "misdirected_request",
  "headers_too_large",
  "not_implemented",
  "gateway_timeout",
] as const satisfies readonly ErrorCode[];

/** The description of the API, as Markdown. */
export function describeApi(plans: PlanTable = PLAN_LIMITS): string {
  return `All paths start with \`${BASE_PATH}\`. \`HEAD\` works wherever \`GET\` does.

## Keys

Every call needs an API key as a bearer token: \`Authorization: Bearer <API_KEY>\`.

## Limits

The plan of an account limits its requests per minute and per day (UTC).

${table(
  ["Plan", "Requests per minute", "Requests per day"],
  Object.entries(plans).map(([plan, limits]) =>
    limits === "custom" ? [plan, "custom", "custom"] : [plan, `${limits.perMinute}`, `${limits.perDay}`],
  ),
)}

Every response carries the limit of the tighter window in \`X-RateLimit-Limit\`, the requests left in it in
\`X-RateLimit-Remaining\`, and the time at which it resets, in Unix seconds, in \`X-RateLimit-Reset\`. After a 429, wait
for \`Retry-After\` and back off exponentially: a key that keeps sending requests is temporarily banned.

## Integers

\`id\` and \`petId\` are int64, sent as JSON numbers with all their digits. Many JSON parsers read numbers as doubles
and change values beyond 9007199254740991. Use a parser that keeps every digit.

## Errors

Every error response has the Error body. In addition to the errors of each operation, these can be returned before an
operation is found:

${table(
  ["Status", "Code", "Meaning"],
  BEFORE_ANY_OPERATION.map((code) => [`${ERRORS[code].status}`, `\`${code}\``, ERRORS[code].message]),
)}
`;
}

/** An operation's description, with what its stability and deprecation mean for callers. */
export function describeOperation({ description, stability, deprecation }: Operation): string {
  const notes = [
    ...(stability === undefined ? [] : [`This operation is ${stability}: it may change.`]),
    ...(deprecation === undefined
      ? []
      : [
          `Deprecated since ${day(deprecation.since)}. From ${day(deprecation.sunset)} on it returns 410.` +
            (deprecation.link === undefined ? "" : ` [What to do](${deprecation.link})`),
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
