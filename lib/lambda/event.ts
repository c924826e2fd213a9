import type { ErrorCode } from "../http/errors.ts";
import { type RequestContext, typeOf } from "../http/options.ts";
import { IMPLEMENTED_METHODS, MAX_URL_CHARS } from "../http/path.ts";
import type { RequestHead } from "../http/response.ts";

/** The event of a REST API with proxy integration (payload format 1.0): the fields that are used. */
export interface ProxyEvent {
  readonly httpMethod: string;
  /** The path without the stage. */
  readonly path: string;
  readonly multiValueHeaders?: Fields | null;
  /** The decoded query parameters. */
  readonly multiValueQueryStringParameters?: Fields | null;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
  readonly requestContext: {
    readonly apiId?: string;
    /** The requested host, as determined by the gateway. */
    readonly domainName?: string;
    readonly requestId?: string;
    /** The path as requested, which begins with the stage on the platform's own host. */
    readonly path?: string;
    readonly identity?: { readonly sourceIp?: string | null };
  };
}

type Fields = Readonly<Record<string, readonly string[] | undefined>>;

/** The name under which a handler sees the platform's own host, whose real name is not known before deployment. */
export const PLATFORM_HOST = "execute-api.amazonaws.com";

/**
 * Converts an event to a request. Never throws: `context.requestError` is set for an invalid request, and `problem`
 * describes an event that is not one, without its values.
 */
export function fromEvent(event: ProxyEvent): {
  readonly request: EventHead;
  readonly context: RequestContext;
  readonly problem?: string;
} {
  if (!isProxyEvent(event)) return { ...fail({}, "bad_request"), problem: describeEvent(event) };
  const { apiId, domainName, requestId, identity } = event.requestContext;
  const host = domainName?.startsWith(`${apiId}.execute-api.`) === true ? PLATFORM_HOST : domainName;
  const context = { address: identity?.sourceIp ?? undefined, host, origin: originOf(event), requestId };
  // A Request would change the case of a method, or reject it.
  if (!IMPLEMENTED_METHODS.has(event.httpMethod)) return fail(context, "not_implemented");
  try {
    const target = `${event.path}${toQuery(event)}`;
    if (target.length > MAX_URL_CHARS) return fail(context, "uri_too_long");
    // The gateway has removed the query from the path.
    if (!/^\/[^?]*$/.test(event.path)) return fail(context, "bad_request");
    const request = new EventHead(event, `https://${domainName ?? "localhost"}${target}`);
    return { request, context: { ...context, target } };
  } catch {
    return fail(context, "bad_request");
  }
}

/** The address of the API: its host, and the stage if the requested path begins with it. */
function originOf({ path, requestContext }: ProxyEvent): string | undefined {
  const { domainName, path: requested = path } = requestContext;
  if (domainName === undefined || !requested.endsWith(path)) return undefined;
  return `https://${domainName}${requested.slice(0, requested.length - path.length)}`;
}

function fail(context: RequestContext, requestError: ErrorCode) {
  const request = new EventHead({ httpMethod: "GET" }, "https://localhost/");
  return { request, context: { ...context, requestError } };
}

/** The head of a request, without a `Request`: the first one loads Node's `fetch`, a fifth of a cold start. */
export class EventHead implements RequestHead {
  readonly method: string;
  readonly url: string;
  /** By name in lower case; the values of one that occurs several times are joined. */
  readonly fields = new Map<string, string>();
  readonly #content: Buffer<ArrayBuffer> | null;

  /** Throws for a header that no request can have. */
  constructor(
    event: Pick<ProxyEvent, "httpMethod" | "multiValueHeaders" | "body" | "isBase64Encoded">,
    url: string,
  ) {
    const { httpMethod: method, multiValueHeaders, body = null, isBase64Encoded = false } = event;
    this.method = method;
    this.url = url;
    for (const [name, values = []] of Object.entries(multiValueHeaders ?? {})) {
      for (const value of values) {
        if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) throw new TypeError("A header is invalid.");
        const key = name.toLowerCase();
        const before = this.fields.get(key);
        this.fields.set(key, before === undefined ? value.trim() : `${before}, ${value.trim()}`);
      }
    }
    // The gateway forwards a body with any method; a request with these methods cannot have one.
    const hasBody = body !== null && method !== "GET" && method !== "HEAD";
    this.#content = hasBody ? Buffer.from(body, isBase64Encoded ? "base64" : "utf8") : null;
  }

  get headers(): this {
    return this;
  }

  get(name: string): string | null {
    return this.fields.get(name.toLowerCase()) ?? null;
  }

  get body(): AsyncIterable<Uint8Array> | null {
    return this.#content && ReadableStream.from([this.#content]);
  }

  /** The request as `fetch` has it. */
  toRequest(): Request {
    return new Request(this.url, { method: this.method, headers: [...this.fields], body: this.#content });
  }
}

/** What `Headers` accepts, without control characters. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function toQuery({ multiValueQueryStringParameters }: ProxyEvent): string {
  const pairs = Object.entries(multiValueQueryStringParameters ?? {}).flatMap(([name, values = []]) =>
    values.map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function isProxyEvent(event: unknown): event is ProxyEvent {
  if (!isRecord(event) || !isRecord(event["requestContext"])) return false;
  const { apiId, domainName, requestId, path, identity } = event["requestContext"];
  return (
    typeof event["httpMethod"] === "string" &&
    typeof event["path"] === "string" &&
    isFields(event["multiValueHeaders"]) &&
    isFields(event["multiValueQueryStringParameters"]) &&
    isOptionalString(event["body"]) &&
    ["boolean", "undefined"].includes(typeof event["isBase64Encoded"]) &&
    [apiId, domainName, requestId, path].every((value) => value === undefined || typeof value === "string") &&
    (isAbsent(identity) || (isRecord(identity) && isOptionalString(identity["sourceIp"])))
  );
}

/** Describes a value by its fields and their types, without their values, which can hold a key. */
function describeEvent(event: unknown): string {
  if (!isRecord(event)) return `The event is ${typeOf(event)}, not an object.`;
  // A name could contain a line break and so forge a line of the log.
  const fields = Object.entries(event).map(
    ([name, value]) => `${name.replace(/[^\w-]/g, "?")}: ${typeOf(value)}`,
  );
  const description = `The event is not a proxy event of a REST API; it has {${fields.join(", ")}}.`;
  return description.slice(0, MAX_DESCRIPTION_CHARS);
}

const MAX_DESCRIPTION_CHARS = 1_000;

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isOptionalString(value: unknown): boolean {
  return isAbsent(value) || typeof value === "string";
}

function isFields(value: unknown): boolean {
  if (isAbsent(value)) return true;
  if (!isRecord(value)) return false;
  return Object.values(value).every(
    (values) =>
      values === undefined || (Array.isArray(values) && values.every((each) => typeof each === "string")),
  );
}
