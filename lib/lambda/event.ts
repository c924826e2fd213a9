import type { RequestContext } from "../http/handler.ts";

/** What the runtime reads of an event of a REST API with proxy integration (payload format 1.0). */
export interface ProxyEvent {
  readonly httpMethod: string;
  /** Without the stage. */
  readonly path: string;
  readonly multiValueHeaders?: Fields | null;
  /** Decoded. */
  readonly multiValueQueryStringParameters?: Fields | null;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
  readonly requestContext: {
    readonly apiId?: string;
    /** The host that was asked for, as the gateway knows it. */
    readonly domainName?: string;
    readonly requestId?: string;
    readonly identity?: { readonly sourceIp?: string | null };
  };
}

type Fields = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * What the platform's own host is called to a handler. Its name holds the identifier of the API, which nobody knows
 * before the API is made; no custom host can have this name.
 */
export const PLATFORM_HOST = "execute-api.amazonaws.com";

const MAX_URL_CHARS = 8 * 1024;

/** An event as the handler takes requests. Never throws: what cannot be one is marked as malformed. */
export function fromEvent(event: ProxyEvent): {
  readonly request: Request;
  readonly context: RequestContext;
} {
  const { apiId, domainName, requestId, identity } = event.requestContext;
  const address = identity?.sourceIp ?? undefined;
  const host = domainName?.startsWith(`${apiId}.execute-api.`) === true ? PLATFORM_HOST : domainName;
  const context = {
    ...(address === undefined ? {} : { address }),
    ...(host === undefined ? {} : { host }),
    ...(requestId === undefined ? {} : { requestId }),
  };
  const url = `https://${domainName ?? "localhost"}${event.path}${queryOf(event)}`;
  if (url.length > MAX_URL_CHARS)
    return { request: NOTHING, context: { ...context, malformed: "uri_too_long" } };
  try {
    return { request: requestOf(event, url), context };
  } catch {
    return { request: NOTHING, context: { ...context, malformed: "bad_request" } };
  }
}

const NOTHING = new Request("https://localhost/");

function requestOf(event: ProxyEvent, url: string): Request {
  const method = event.httpMethod;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(event.multiValueHeaders ?? {})) {
    for (const value of values) headers.append(name, value);
  }
  // A gateway passes on a body that a Request of these methods must not have.
  const body = method === "GET" || method === "HEAD" ? null : bodyOf(event);
  return new Request(url, { method, headers, body });
}

function bodyOf({ body = null, isBase64Encoded = false }: ProxyEvent): string | Buffer<ArrayBuffer> | null {
  return body !== null && isBase64Encoded ? Buffer.from(body, "base64") : body;
}

function queryOf({ multiValueQueryStringParameters }: ProxyEvent): string {
  const pairs = Object.entries(multiValueQueryStringParameters ?? {}).flatMap(([name, values = []]) =>
    values.map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}
