import type { ReceivedHead } from "../http/call-handler.ts";
import type { ErrorCode } from "../http/errors.ts";
import { IMPLEMENTED_METHODS, MAX_URL_CHARS } from "../http/path.ts";
import { HEADER_NAME, HEADER_VALUE, type RequestContext } from "../http/request.ts";

/** The event of a REST API with proxy integration (payload format 1.0): the fields that are used. */
export interface ProxyEvent {
  readonly httpMethod: string;
  readonly path: string;
  readonly multiValueHeaders?: Fields | null;
  /** The decoded query parameters. */
  readonly multiValueQueryStringParameters?: Fields | null;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
  readonly requestContext: {
    readonly apiId?: string;
    readonly domainName?: string;
    readonly requestId?: string;
    readonly identity?: { readonly sourceIp?: string | null };
  };
}

type Fields = Readonly<Record<string, readonly string[] | undefined>>;

/** The name under which a handler sees the platform's own host, whose real name is not known before deployment. */
export const PLATFORM_HOST = "execute-api.amazonaws.com";

/** Never throws: `context.requestError` is set for an invalid request, `problem` for an event of something else. */
export function fromEvent(event: ProxyEvent): {
  readonly request: EventHead;
  readonly context: RequestContext;
  readonly problem?: string;
} {
  let context: RequestContext = {};
  if (!isProxyEvent(event)) return { ...fail(context, "bad_request"), problem: NO_PROXY_EVENT };
  try {
    const { apiId, domainName, requestId, identity } = event.requestContext;
    const host = domainName?.startsWith(`${apiId}.execute-api.`) === true ? PLATFORM_HOST : domainName;
    context = { address: identity?.sourceIp ?? undefined, host, requestId };
    // A Request would change the case of a method, or reject it.
    if (!IMPLEMENTED_METHODS.has(event.httpMethod)) return fail(context, "not_implemented");
    const target = `${event.path}${queryStringOf(event)}`;
    if (target.length > MAX_URL_CHARS) return fail(context, "uri_too_long");
    // The gateway has removed the query from the path.
    if (!/^\/[^?]*$/.test(event.path)) return fail(context, "bad_request");
    const request = new EventHead(event, `https://${domainName ?? "localhost"}${target}`);
    return { request, context: { ...context, target } };
  } catch {
    return fail(context, "bad_request");
  }
}

/** True for what every event of a REST API has. A further field of another type is an invalid request. */
function isProxyEvent(event: ProxyEvent): boolean {
  const { httpMethod, path, requestContext } = Object(event);
  return (
    typeof httpMethod === "string" && typeof path === "string" && Object(requestContext) === requestContext
  );
}

/** The fields of the event are not named: they can hold a key. */
const NO_PROXY_EVENT = "The event is not one of a REST API with proxy integration.";

function fail(context: RequestContext, requestError: ErrorCode) {
  const request = new EventHead({ httpMethod: "GET" }, "https://localhost/");
  return { request, context: { ...context, requestError } };
}

/** The head of a request, which is its own `headers`. */
export class EventHead implements ReceivedHead {
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

  /** In no field of its own: an operation may write its headers as JSON. */
  get headers(): this {
    return this;
  }

  get(name: string): string | null {
    return this.fields.get(name.toLowerCase()) ?? null;
  }

  get body(): AsyncIterable<Uint8Array> | null {
    return this.#content && ReadableStream.from([this.#content]);
  }

  names(): Iterable<string> {
    return this.fields.keys();
  }
}

function queryStringOf({ multiValueQueryStringParameters }: ProxyEvent): string {
  const pairs = Object.entries(multiValueQueryStringParameters ?? {}).flatMap(([name, values = []]) =>
    values.map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}
