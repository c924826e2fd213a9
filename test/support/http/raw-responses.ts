/** Answers as they stand on the wire, cut by HTTP's own rules: not by a client that forgives. */

/** One answer, whole. */
export interface Reply {
  readonly status: number;
  readonly version: string;
  /** By name in lower case; a field that stands there twice is a fault. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** What a connection gave: its answers, and what came after the last whole one. */
export interface Answers {
  readonly answers: readonly Reply[];
  readonly rest: string;
}

/**
 * Cuts what came on a connection (as latin1) into answers. The methods are those of the requests in turn, as far as
 * they are known: an answer to `HEAD` has no body. Interim answers (1xx) stand there like any other, and are no
 * request's turn. Without a length, a body is whole when the connection has ended.
 */
export function cutAnswers(bytes: string, methods: readonly string[], ended: boolean): Answers {
  const answers: Reply[] = [];
  let rest = bytes;
  for (let turn = 0; ; ) {
    const cut = cutAnswer(rest, methods[turn], ended);
    if (cut === undefined) return { answers, rest };
    answers.push(cut.answer);
    rest = cut.rest;
    if (cut.answer.status >= 200) turn++;
  }
}

function cutAnswer(bytes: string, method: string | undefined, ended: boolean) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [start = "", ...lines] = bytes.slice(0, end).split("\r\n");
  const [, version = "", digits = ""] = /^HTTP\/(1\.\d) (\d{3}) [ -~]*$/.exec(start) ?? [];
  if (version === "") throw new Error(`No status line: ${JSON.stringify(bytes.slice(0, 80))}`);
  const headers = fieldsOf(lines);
  const status = Number(digits);
  const bare = status < 200 || status === 204 || status === 304 || method === "HEAD";
  const after = bytes.slice(end + 4);
  const cut = bare ? { body: "", rest: after } : cutBody(headers, after, ended);
  return cut && { answer: { status, version, headers, body: cut.body }, rest: cut.rest };
}

function fieldsOf(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = "", value = ""] =
      /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ?([\t -~\x80-\xff]*)$/.exec(line) ?? [];
    if (name === "") throw new Error(`No header field: ${JSON.stringify(line)}`);
    if (headers.has(name.toLowerCase())) throw new Error(`Twice: ${name}`);
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

function cutBody(headers: ReadonlyMap<string, string>, after: string, ended: boolean) {
  const length = headers.get("content-length");
  if (headers.get("transfer-encoding") === "chunked") {
    if (length !== undefined) throw new Error("Two lengths.");
    return cutChunks(after);
  }
  if (length === undefined) return ended ? { body: after, rest: "" } : undefined;
  const size = Number(length);
  return after.length < size ? undefined : { body: after.slice(0, size), rest: after.slice(size) };
}

function cutChunks(after: string) {
  let body = "";
  let rest = after;
  for (;;) {
    const [line, digits = ""] = /^([0-9a-f]+)\r\n/i.exec(rest) ?? [];
    if (line === undefined) return undefined;
    const size = Number.parseInt(digits, 16);
    const end = line.length + size;
    if (rest.length < end + 2) return undefined;
    body += rest.slice(line.length, end);
    if (rest.slice(end, end + 2) !== "\r\n") throw new Error("A chunk has another length than it says.");
    rest = rest.slice(end + 2);
    if (size === 0) return { body, rest };
  }
}
