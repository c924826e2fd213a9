import { ERRORS, type ErrorCode } from "../../errors.ts";
import type { PlanTable } from "../../plans/plan-limits.ts";
import {
  BASE_PATH,
  INTERFACE_VERSION,
  OPERATIONS,
  type Operation,
  type OperationParameter,
  SHARED_ERRORS,
} from "../operations.ts";
import { EXAMPLES, HEADERS, SCHEMAS } from "./components.ts";
import { describeApi, describeOperation } from "./text.ts";

/** A base URL of the service, for the OpenAPI document. */
export interface Server {
  readonly url: string;
  readonly description?: string;
}

/** The server of the document, relative to it, so that it is right on every host and below every path. */
export const THIS_SERVER: Server = { url: `.${BASE_PATH}`, description: "This server" };

/** The OpenAPI 3.1 document, derived from the operations. */
export function openApiDocument({
  operations = OPERATIONS,
  servers = [THIS_SERVER],
  plans,
}: {
  readonly operations?: readonly Operation[];
  readonly servers?: readonly Server[];
  readonly plans?: PlanTable | undefined;
} = {}): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation),
    };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Store Orders",
      version: INTERFACE_VERSION,
      summary: "List the orders of a store and cancel them.",
      description: describeApi(plans),
      license: { name: "MIT", identifier: "MIT" },
    },
    servers,
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
      name,
      description: TAG_DESCRIPTIONS[name] ?? `Operations on ${name}.`,
    })),
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "so_<environment>_<account>_<secret>",
          description: "Your API key.",
        },
      },
      schemas: SCHEMAS,
      headers: HEADERS,
    },
  };
}

const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  orders: "The orders of the store.",
  pets: "The animals in the orders.",
};

function describe(operation: Operation): object {
  const { id, tag, summary, parameters, success, errors, stability, deprecation, tryIt } = operation;
  const responses: Record<string, object> = { [success.status]: succeeded(operation) };
  for (const [status, codes] of byStatus([...errors, ...SHARED_ERRORS]))
    responses[status] = failed(status, codes, operation);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: describeOperation(operation),
    ...(parameters === undefined ? {} : { parameters: Object.entries(parameters).map(describeParameter) }),
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
  return {
    description,
    headers: headersOf(namesFor(operation)),
    ...(content === undefined ? {} : { content }),
  };
}

function failed(status: number, codes: readonly ErrorCode[], operation: Operation): object {
  const wait = status === 429 || status === 503 ? ["Retry-After"] : [];
  const challenge = status === 401 ? ["WWW-Authenticate"] : [];
  return {
    description: codes.map((code) => ERRORS[code].message).join(" "),
    headers: headersOf([...namesFor(operation), ...wait, ...challenge]),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: { code, message: ERRORS[code].message, status } }]),
        ),
      },
    },
  };
}

/** The headers of every response of an operation. */
function namesFor({ deprecation }: Operation): readonly string[] {
  const deprecated = deprecation === undefined ? [] : ["Deprecation", "Sunset", "Link"];
  return ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id", ...deprecated];
}

function headersOf(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function byStatus(codes: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  return Map.groupBy(codes, (code) => ERRORS[code].status);
}
