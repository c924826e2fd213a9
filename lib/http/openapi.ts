import { orderExample, orderJsonSchema } from "../orders/order.ts";
import { PLAN_LIMITS, type PlanTable } from "../plans/plan-limits.ts";
import { cachedDocument } from "./compression.ts";
import { ERRORS } from "./errors.ts";
import {
  API_VERSION_PATH,
  fullPath,
  INTERFACE_VERSION,
  OPERATIONS,
  type Operation,
  type OperationParameter,
  type OwnError,
  SHARED_ERRORS,
} from "./operations.ts";

/** A base URL of the service, for the OpenAPI document. */
export interface Server {
  readonly url: string;
  readonly description?: string;
}

/** What the OpenAPI document says about whose API it is. Its version is that of the interface. */
export interface OpenApiInfo {
  /** @default Store Orders */
  readonly title?: string;
  /** CommonMark, before what the service says about keys, limits and errors. */
  readonly description?: string;
  readonly contact?: { readonly name?: string; readonly url?: string; readonly email?: string };
  /** Servers in addition to this one. @default none */
  readonly servers?: readonly Server[];
  /** The documentation of deprecated operations that have no link of their own. @default the OpenAPI document */
  readonly docsUrl?: string;
}

/** The server of the document, relative to it, so that it is right on every host and below every path. */
const THIS_SERVER: Server = { url: `.${API_VERSION_PATH}`, description: "This server" };

export function openApiDocument({
  operations = OPERATIONS,
  servers = [THIS_SERVER],
  plans,
  keyHeaders = [],
  openapi: { title, description, contact } = {},
}: {
  readonly operations?: readonly Operation[];
  readonly servers?: readonly Server[];
  readonly plans?: PlanTable | undefined;
  readonly keyHeaders?: readonly string[] | undefined;
  readonly openapi?: OpenApiInfo | undefined;
} = {}): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const { version, path, method } = operation;
    // The servers end with /v1.
    const isV1 = version === undefined;
    const key = isV1 ? path : fullPath(operation);
    paths[key] = {
      ...(isV1 ? {} : { servers: servers.map((server) => ({ ...server, url: rootOf(server) })) }),
      ...paths[key],
      [method.toLowerCase()]: operationObject(operation),
    };
  }
  const keyHeader = (name: string) => ({ type: "apiKey", in: "header", name, description: "Your API key." });
  const isOurs = !title && !description && !contact;
  const about = [description || [], describeApi(operations, plans, keyHeaders)].flat();
  const ownCodes = operations.flatMap(({ ownErrors = {} }) => Object.keys(ownErrors));
  return {
    openapi: "3.1.0",
    info: {
      title: "Store Orders",
      version: INTERFACE_VERSION,
      // Another service has its own summary and license.
      ...(isOurs && { summary: "List the orders of a store and cancel them." }),
      description: about.join("\n\n"),
      ...(isOurs && { license: { name: "MIT", identifier: "MIT" } }),
      ...(title && { title }),
      ...(contact && { contact }),
    },
    servers,
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
      name,
      description: TAG_DESCRIPTIONS.get(name) ?? `Operations on ${name}.`,
    })),
    security: [{ apiKey: [] }, ...keyHeaders.map((name) => ({ [name]: [] }))],
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "so_<environment>_<account>_<secret>",
          description: "Your API key.",
        },
        ...Object.fromEntries(keyHeaders.map((name) => [name, keyHeader(name)])),
      },
      schemas: schemas([...new Set([...Object.keys(ERRORS), ...ownCodes])]),
      headers: HEADERS,
    },
  };
}

function rootOf({ url }: Server): string {
  return url.endsWith(API_VERSION_PATH) ? url.slice(0, -API_VERSION_PATH.length) : url;
}

const TAG_DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ["orders", "The orders of the store."],
  ["pets", "The animals in the orders."],
]);

function operationObject(operation: Operation): object {
  const { id, tag, summary, parameters = {}, success, errors, stability, deprecation, tryIt } = operation;
  const { ownErrors = {}, input: { parameters: query = [], requestBody } = {} } = operation;
  const responses: Record<string, object> = { [success.status]: succeeded(operation) };
  const found = [...errors, ...SHARED_ERRORS].map((code): [string, OwnError] => [code, ERRORS[code]]);
  const byStatus = Map.groupBy([...found, ...Object.entries(ownErrors)], ([, { status }]) => status);
  for (const [status, each] of byStatus) responses[status] = failed(status, each, operation);
  const all = [...Object.entries(parameters).map(describeParameter), ...query];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: describeOperation(operation),
    ...(all.length === 0 ? {} : { parameters: all }),
    ...(requestBody && { requestBody }),
    responses,
    ...(stability === undefined ? {} : { "x-stability": stability }),
    ...(deprecation === undefined ? {} : { deprecated: true, "x-sunset": deprecation.sunset }),
    ...(tryIt === false ? { "x-try-it-out": false } : {}),
  };
}

function describeParameter([name, { description, type }]: readonly [string, OperationParameter]): object {
  return {
    name,
    in: "path",
    required: true,
    description,
    ...(type === "string"
      ? { schema: { type: "string" } }
      : { schema: { type: "integer", format: "int64" }, example: 1001 }),
  };
}

function succeeded(operation: Operation): object {
  const { description, schema } = operation.success;
  const content = schema && {
    "application/json":
      typeof schema === "string"
        ? { schema: { $ref: `#/components/schemas/${schema}` }, examples: EXAMPLES[schema] }
        : { schema },
  };
  return { description, headers: headersOf(namesFor(operation)), ...(content && { content }) };
}

function failed(
  status: number,
  errors: readonly (readonly [string, OwnError])[],
  operation: Operation,
): object {
  const wait = status === 429 || status === 503 ? ["Retry-After"] : [];
  const challenge = status === 401 ? ["WWW-Authenticate"] : [];
  const [, own] = errors.find(([, { schema }]) => schema) ?? [];
  const schema = own?.schema ?? { $ref: "#/components/schemas/Error" };
  const examples = errors.map(([code, { message }]) => [code, { value: { code, message, status } }]);
  const content = { "application/json": { schema, examples: Object.fromEntries(examples) } };
  return {
    description: errors.map(([, { message }]) => message).join(" "),
    headers: headersOf([...namesFor(operation), ...wait, ...challenge]),
    content,
  };
}

function namesFor({ deprecation }: Operation): readonly string[] {
  const deprecated = deprecation === undefined ? [] : ["Deprecation", "Sunset", "Link"];
  return ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id", ...deprecated];
}

function headersOf(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Serves the OpenAPI document. Its first server is the one that was asked, by a relative URL. */
export function createServedDocument(
  described: Omit<NonNullable<Parameters<typeof openApiDocument>[0]>, "servers">,
): ReturnType<typeof cachedDocument> {
  const servers = [THIS_SERVER, ...(described.openapi?.servers ?? [])];
  return cachedDocument(JSON.stringify(openApiDocument({ ...described, servers })));
}

/** Errors that are returned before an operation is found: all that no operation lists. */
const OPERATION_ERRORS: readonly string[] = [...SHARED_ERRORS, ...OPERATIONS.flatMap(({ errors }) => errors)];
const OTHER_ERRORS = Object.entries(ERRORS).filter(([code]) => !OPERATION_ERRORS.includes(code));

function describeApi(
  operations: readonly Operation[],
  plans: PlanTable = PLAN_LIMITS,
  keyHeaders: readonly string[],
): string {
  const versions = new Set(operations.map((operation) => `\`/${fullPath(operation).split("/")[1]}\``));
  return `All paths start with ${[...versions].join(" or ")}. \`HEAD\` works wherever \`GET\` does.

## Keys

Every call needs an API key as a bearer token: \`Authorization: Bearer <API_KEY>\`.${keyHeaders.map((name) => ` Or send it in \`${name}\`.`).join("")}

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
  OTHER_ERRORS.map(([code, { status, message }]) => [`${status}`, `\`${code}\``, message]),
)}
`;
}

function describeOperation({ description, stability, deprecation }: Operation): string {
  const parts = [description];
  if (stability !== undefined) parts.push(`This operation is ${stability}: it may change.`);
  if (deprecation !== undefined) {
    const { since, sunset, link } = deprecation;
    const advice = link === undefined ? "" : ` [What to do](${link})`;
    parts.push(`Deprecated since ${day(since)}. From ${day(sunset)} on it returns 410.${advice}`);
  }
  return parts.join("\n\n");
}

function day(instant: string): string {
  return new Date(instant).toISOString().slice(0, 10);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The schema of a request is closed. Those of responses are open: a later version can add fields and codes. */
const { additionalProperties: _, ...openOrder } = orderJsonSchema;

const schemas = (codes: readonly string[]) => ({
  Order: { ...openOrder, examples: [orderExample] },
  OrderList: {
    type: "array",
    description: "Orders, ascending by `id`.",
    items: { $ref: "#/components/schemas/Order" },
  },
  Pet: {
    type: "object",
    description: "An animal, with the fields that the store keeps.",
    additionalProperties: true,
  },
  Error: {
    type: "object",
    description: "The body of every error response.",
    required: ["code", "message", "status"],
    properties: {
      code: {
        type: "string",
        description:
          "Machine-readable error code. The examples are those that are known; there can be others.",
        examples: codes,
      },
      message: {
        type: "string",
        description: "Human-readable description.",
        examples: [ERRORS.order_not_found.message],
      },
      status: { type: "integer", description: "The HTTP status code.", examples: [404] },
    },
  },
});

const EXAMPLES = {
  OrderList: {
    orders: {
      summary: "Orders, one with every field and one with the identifier alone",
      value: [orderExample, { id: 1002 }],
    },
    none: { summary: "A store without orders", value: [] },
  },
  Pet: { pet: { summary: "An animal", value: { id: 7, name: "Rex" } } },
} as const;

const HEADERS = {
  "X-RateLimit-Limit": header("The limit that applies to the caller.", 60),
  "X-RateLimit-Remaining": header("Requests left in the current window.", 59),
  "X-RateLimit-Reset": header("When the limit resets, in Unix seconds.", 1_795_176_060),
  "X-Request-Id": header(
    "Identifies this request. Include it when you ask for help.",
    "7f3f1c5e-4a0e-4d52-9d35-8d4c1f6a2b90",
  ),
  "Retry-After": header("Seconds to wait before the next request.", 30, 1),
  "WWW-Authenticate": header(
    "The bearer challenge. Some platforms rename this header.",
    'Bearer realm="store-orders"',
  ),
  Deprecation: header("Deprecated since this time (RFC 9745).", "@1780272000"),
  Sunset: header("Removed at this time (RFC 8594).", "Tue, 01 Jun 2027 00:00:00 GMT"),
  Link: header(
    "The page that explains the change.",
    '</docs>; rel="deprecation"; type="text/html", </docs>; rel="sunset"; type="text/html"',
  ),
};

function header(description: string, example: number | string, minimum = 0): object {
  const schema =
    typeof example === "number" ? { type: "integer", format: "int64", minimum } : { type: "string" };
  return { description, schema, example };
}
