import { errorMessage, InvalidInputError, type Issue, toIssues } from "../core/errors.ts";
import { splitTarget } from "../core/request-target.ts";
import { parseJsonNumbers } from "../orders/int64.ts";
import { BODY_METHODS, EMPTY, receive } from "./body.ts";
import type { CustomOperation } from "./custom-operations.ts";
import { ERRORS, type ErrorCode, INPUT_ERRORS } from "./errors.ts";
import type {
  Operation,
  OperationCall,
  OperationParameter,
  OwnError,
  ParameterValues,
} from "./operations.ts";
import { MAX_URL_CHARS } from "./path.ts";
import type { HeaderFields, Reply, SuccessReply } from "./reply.ts";
import type { RequestHead } from "./request.ts";

/** A schema of any library that implements https://standardschema.dev, such as zod, valibot or arktype. */
export interface Schema<Output = unknown> {
  readonly "~standard": {
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** https://standardschema.dev/json-schema */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => JsonSchema;
    };
  };
}

/** The result of a schema: the value, or what is wrong with it. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

type JsonSchema = Readonly<Record<string, unknown>>;

type OutputOf<S> = S extends Schema ? NonNullable<S["~standard"]["types"]>["output"] : undefined;

/** The names in braces in a path: `"orderId"` for `/orders/{orderId}`. */
type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never;

/** The argument of `defineOperation`: the operation as data, and its implementation. */
export type OperationDefinition<
  Path extends `/${string}`,
  Parameters extends Readonly<Record<PathParameter<Path>, OperationParameter>>,
  Errors extends ErrorCode,
  OwnErrors extends Readonly<Record<string, OwnError>>,
  Query extends Schema | undefined,
  Body extends Schema | undefined,
> = Omit<Operation, "path" | "parameters" | "errors" | "ownErrors" | "input"> & {
  /** Relative to the base URL. Each segment in braces is a parameter. */
  readonly path: Path;
  /** The errors that `handle` returns, in addition to those that all operations share. */
  readonly errors: readonly Errors[];
  /** Further errors that `handle` returns, by code: each with a status and a message. */
  readonly ownErrors?: OwnErrors;
  /** The query as an object: each parameter is a string, or an array of strings if it occurs several times. */
  readonly query?: Query;
  /** The body of a `POST`, `PUT` or `PATCH`, as JSON. An integer beyond 2^53 is a `bigint`. An empty body is `undefined`. */
  readonly body?: Body;
  /** The largest body, in bytes. @default 65_536 */
  readonly maxBodyBytes?: number;
  /** The JSON Schemas for the OpenAPI document. @default as the schemas describe themselves */
  readonly jsonSchemas?: { readonly query?: JsonSchema; readonly body?: JsonSchema };
  readonly handle: (
    call: OperationCall<ParameterValues<Parameters>> & {
      readonly query: OutputOf<Query>;
      readonly body: OutputOf<Body>;
    },
  ) => Promise<
    | SuccessReply
    | {
        readonly error: NoInfer<Errors> | (keyof NoInfer<OwnErrors> & string);
        readonly headers?: HeaderFields;
      }
  >;
} & ([PathParameter<Path>] extends [never]
    ? { readonly parameters?: Parameters }
    : { readonly parameters: Parameters });

/**
 * Defines an operation in addition to `OPERATIONS`: see lib/http/README.md#operations-of-your-own. Throws
 * `InvalidInputError` if its version, errors, query or body are invalid; `createHandler` checks the rest.
 */
export function defineOperation<
  const Path extends `/${string}`,
  const Parameters extends Readonly<Record<PathParameter<Path>, OperationParameter>>,
  const Errors extends ErrorCode,
  const OwnErrors extends Readonly<Record<string, OwnError>> = Record<never, OwnError>,
  const Query extends Schema | undefined = undefined,
  const Body extends Schema | undefined = undefined,
>(definition: OperationDefinition<Path, Parameters, Errors, OwnErrors, Query, Body>): CustomOperation {
  const { query, body, maxBodyBytes, jsonSchemas, ...operation } = definition as unknown as UntypedDefinition;
  const { handle, ownErrors, method, errors } = operation;
  const { issues, input } = describeInput(definition as unknown as UntypedDefinition);
  if (issues.length > 0) throw new InvalidInputError(issues);
  const hasInput = query !== undefined || body !== undefined;
  return {
    ...operation,
    ...(body && { errors: [...errors, "request_timeout", "request_too_large"] }),
    ...((ownErrors || hasInput) && {
      ownErrors: {
        ...ownErrors,
        ...(hasInput && { invalid_input: { ...INPUT_ERRORS.invalid_input, schema: INVALID_INPUT_SCHEMA } }),
        ...(body && { unsupported_media_type: INPUT_ERRORS.unsupported_media_type }),
      },
    }),
    ...(hasInput && { input }),
    async handle(call) {
      const { request } = call;
      const parameters = query ? await validate(query, "query", parseQuery(request.url)) : NOTHING;
      if (!parameters.ok) return parameters.reply;
      // Without a schema it is still received, so that an incomplete request has no effect.
      const received = BODY_METHODS.has(method) ? await receiveJson(request, body, maxBodyBytes) : NOTHING;
      const content = body ? await validate(body, "body", received) : received;
      if (!content.ok) return content.reply;
      const reply = await handle({ ...call, query: parameters.value, body: content.value });
      const code = reply?.error ?? "";
      const own = ownErrors && Object.hasOwn(ownErrors, code) ? ownErrors[code] : undefined;
      return own === undefined ? reply : toReply(code, own, {}, reply.headers);
    },
  };
}

/** The errors of an event as `ownErrors`, with 409: `conflictsOf(shop.errorsOf("cancel"))`. See `defineLifecycle`. */
export function conflictsOf<Code extends string>(
  messages: Readonly<Record<Code, string>>,
): Readonly<Record<Code, OwnError>> {
  const errors = Object.entries<string>(messages).map(([code, message]) => [code, { status: 409, message }]);
  return Object.fromEntries(errors);
}

/** A definition of which nothing is known: callers can be untyped. */
type UntypedDefinition = Omit<CustomOperation, "handle"> & {
  readonly query?: Schema;
  readonly body?: Schema;
  readonly maxBodyBytes?: number;
  readonly jsonSchemas?: { readonly query?: JsonSchema; readonly body?: JsonSchema };
  readonly handle: (call: OperationCall & { query: unknown; body: unknown }) => Promise<Reply>;
};

function describeInput(definition: UntypedDefinition) {
  const { id, method, version, query, body, jsonSchemas = {}, ownErrors = {} } = definition;
  const issues: Issue[] = [];
  const report = (path: string, message: string) => issues.push({ path: `${id}.${path}`, message });
  const describe = (name: "query" | "body", schema: Schema | undefined): JsonSchema => {
    if (schema === undefined || jsonSchemas[name] !== undefined) return jsonSchemas[name] ?? {};
    try {
      const { jsonSchema } = schema["~standard"];
      if (jsonSchema === undefined) throw new Error("It does not describe itself");
      const { $schema: _, ...described } = jsonSchema.input({ target: "draft-2020-12" });
      // A reference into itself would be one into the OpenAPI document there.
      if (JSON.stringify(described).includes('"$ref":')) throw new Error("It refers to itself");
      return described;
    } catch (error) {
      const reason = errorMessage(error).replace(/\.$/, "");
      const message = `The schema has no JSON Schema for the documentation. ${reason}. Give one here.`;
      report(`jsonSchemas.${name}`, message);
      return {};
    }
  };

  if (body !== undefined && !BODY_METHODS.has(method))
    report("body", "Only POST, PUT and PATCH have a body.");
  if (version !== undefined && !/^v(?:[2-9]|[1-9]\d{1,2})$/.test(version))
    report("version", "Use a version such as v2, or leave it out for v1.");
  const taken = "The service has an error with this code. Name it in 'errors', or rename yours.";
  for (const code of Object.keys(ownErrors))
    if (Object.hasOwn(ERRORS, code) || Object.hasOwn(INPUT_ERRORS, code)) report(`ownErrors.${code}`, taken);
  if (issues.length > 0) return { issues };

  const { properties = {}, required = [] } = describe("query", query) as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly required?: readonly string[];
  };
  const parameters = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    ...{ name, in: "query", required: required.includes(name) },
    ...(description === undefined ? {} : { description }),
    schema,
  }));
  const content = { "application/json": { schema: describe("body", body) } };
  return { issues, input: { parameters, ...(body && { requestBody: { required: true, content } }) } };
}

/** The most issues of a response, and the longest path and message of one. */
const MAX_ISSUES = 20;
const MAX_ISSUE_CHARS = 200;

const INVALID_INPUT_SCHEMA = {
  type: "object",
  required: ["code", "message", "status"],
  properties: {
    code: { type: "string" },
    message: { type: "string" },
    status: { type: "integer" },
    issues: {
      type: "array",
      description: "What is wrong with `query` and `body`.",
      maxItems: MAX_ISSUES,
      items: {
        type: "object",
        required: ["path", "message"],
        properties: { path: { type: "string", examples: ["body.quantity"] }, message: { type: "string" } },
      },
    },
  },
} as const;

type Input = { readonly ok: true; readonly value?: unknown } | { readonly ok: false; readonly reply: Reply };

const NOTHING: Input = { ok: true };

function toReply(
  code: string,
  { status, message }: OwnError,
  details: { readonly issues?: readonly Issue[] } = {},
  headers: HeaderFields = {},
): Reply {
  return { error: code, status, body: JSON.stringify({ code, message, status, ...details }), headers };
}

function rejected(issues: readonly Issue[]): Input {
  return { ok: false, reply: toReply("invalid_input", INPUT_ERRORS.invalid_input, { issues }) };
}

const unsupported = toReply("unsupported_media_type", INPUT_ERRORS.unsupported_media_type);
const UNSUPPORTED: Input = { ok: false, reply: unsupported };

async function validate(schema: Schema, name: "query" | "body", input: Input): Promise<Input> {
  if (!input.ok) return input;
  const result = await schema["~standard"].validate(input.value);
  if (result.issues === undefined) return { ok: true, value: result.value };
  const issues = [...result.issues].slice(0, MAX_ISSUES).flatMap(({ path = [], message }) => {
    const keys = path.map((part) => (typeof part === "object" ? part.key : part));
    return toIssues({ code: "", path: [name, ...keys], message }, () => []);
  });
  const cut = (text: string) => text.slice(0, MAX_ISSUE_CHARS);
  return rejected(issues.map(({ path, message }) => ({ path: cut(path), message: cut(message) })));
}

function parseQuery(url: string): Input {
  const { path } = splitTarget(url);
  const query = /\?[^#]*/.exec(path)?.[0] ?? "";
  if (query.length > MAX_URL_CHARS) return { ok: false, reply: { error: "uri_too_long" } };
  try {
    decodeURIComponent(query);
  } catch {
    return rejected([{ path: "query", message: "Use percent-encoded UTF-8." }]);
  }
  const byName = Map.groupBy(new URLSearchParams(query), ([name]) => name);
  if (byName.has("__proto__"))
    return rejected([{ path: "query.__proto__", message: "No parameter has this name." }]);
  const entries = [...byName].map(([name, pairs]) => {
    const values = pairs.map(([, value]) => value);
    return [name, values.length === 1 ? values[0] : values];
  });
  return { ok: true, value: Object.fromEntries(entries) };
}

/** https://www.rfc-editor.org/rfc/rfc8259#section-11 */
const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

const DEFAULT_MAX_BODY_BYTES = 64 * 1024;

async function receiveJson(
  request: RequestHead,
  schema: Schema | undefined,
  maxBytes = DEFAULT_MAX_BODY_BYTES,
): Promise<Input> {
  const type = request.headers.get("content-type");
  if (schema !== undefined) {
    if (request.bodyUsed === true)
      throw new Error("A middleware has read the body of this request. Mount the handler before it.");
    const coding = request.headers.get("content-encoding") ?? "identity";
    if (!JSON_TYPE.test(type ?? "application/json") || coding.toLowerCase() !== "identity")
      return UNSUPPORTED;
  }
  const bytes = request.bodyUsed === true ? EMPTY : await receive(request, maxBytes);
  if (typeof bytes === "string") return { ok: false, reply: { error: bytes } };
  if (schema === undefined || bytes.length === 0) return NOTHING;
  if (type === null) return UNSUPPORTED;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!(MAY_HAVE_KEY.test(text) && PROTOTYPE_KEY.test(text)))
      return { ok: true, value: parseJsonNumbers(text, LONG_INTEGER, parseInteger) };
  } catch {}
  return rejected([{ path: "body", message: "Send valid JSON in UTF-8, without a key '__proto__'." }]);
}

const MAY_HAVE_KEY = /__proto__|\\u00[567]/;

/** The key that would change the prototype of a copy, however it is escaped. */
const PROTOTYPE_KEY =
  /(?<=[{,\s])"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])(?:_|\\u005[fF]){2}"\s*:/;

/** An integer that a double may not hold. Any other number is a double. */
const LONG_INTEGER = /(?<![\d.eE+-])-?(?:9\d{15}|[1-9]\d{16,18})(?![\d.eE+-])/g;

function parseInteger(source: string): number | bigint {
  return Number.isSafeInteger(Number(source)) ? Number(source) : BigInt(source);
}
