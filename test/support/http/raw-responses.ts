/** A strict parser of HTTP responses. Unlike a client, it tolerates nothing. */

export interface ParsedResponse {
  readonly status: number;
  readonly version: string;
  /** By name in lower case. A repeated field is an error. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The responses of a connection, and the bytes after the last complete one. */
export interface ParsedResponses {
  readonly responses: readonly ParsedResponse[];
  readonly rest: string;
}

/**
 * Parses the bytes of a connection (latin1). `methods` are those of the requests in order, as far as they matter: a
 * response to `HEAD` has no body. Interim responses (1xx) are included and belong to no request. A body without a
 * length is complete when the connection has ended.
 */
export function parseResponses(bytes: string, methods: readonly string[], ended: boolean): ParsedResponses {
  const responses: ParsedResponse[] = [];
  let rest = bytes;
  for (let turn = 0; ; ) {
    const parsed = parseResponse(rest, methods[turn], ended);
    if (parsed === undefined) return { responses, rest };
    responses.push(parsed.response);
    rest = parsed.rest;
    if (parsed.response.status >= 200) turn++;
  }
}

function parseResponse(bytes: string, method: string | undefined, ended: boolean) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [start = "", ...lines] = bytes.slice(0, end).split("\r\n");
  const [, version = "", digits = ""] = /^HTTP\/(1\.\d) (\d{3}) [ -~]*$/.exec(start) ?? [];
  if (version === "") throw new Error(`Invalid status line: ${JSON.stringify(bytes.slice(0, 80))}`);
  const headers = parseFields(lines);
  const status = Number(digits);
  const bodyless = status < 200 || status === 204 || status === 304 || method === "HEAD";
  const after = bytes.slice(end + 4);
  const parsed = bodyless ? { body: "", rest: after } : parseBody(headers, after, ended);
  return parsed && { response: { status, version, headers, body: parsed.body }, rest: parsed.rest };
}

function parseFields(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = "", value = ""] =
      /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ?([\t -~\x80-\xff]*)$/.exec(line) ?? [];
    if (name === "") throw new Error(`Invalid header field: ${JSON.stringify(line)}`);
    if (headers.has(name.toLowerCase())) throw new Error(`Repeated header field: ${name}`);
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

function parseBody(headers: ReadonlyMap<string, string>, after: string, ended: boolean) {
  const length = headers.get("content-length");
  if (headers.get("transfer-encoding") === "chunked") {
    if (length !== undefined) throw new Error("A response has both Content-Length and Transfer-Encoding.");
    return parseChunks(after);
  }
  if (length === undefined) return ended ? { body: after, rest: "" } : undefined;
  const size = Number(length);
  return after.length < size ? undefined : { body: after.slice(0, size), rest: after.slice(size) };
}

function parseChunks(after: string) {
  let body = "";
  let rest = after;
  for (;;) {
    const [line, digits = ""] = /^([0-9a-f]+)\r\n/i.exec(rest) ?? [];
    if (line === undefined) return undefined;
    const size = Number.parseInt(digits, 16);
    const end = line.length + size;
    if (rest.length < end + 2) return undefined;
    body += rest.slice(line.length, end);
    if (rest.slice(end, end + 2) !== "\r\n") throw new Error("A chunk does not have its announced length.");
    rest = rest.slice(end + 2);
    if (size === 0) return { body, rest };
  }
}
