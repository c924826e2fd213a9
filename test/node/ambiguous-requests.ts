/** Requests that servers parse differently. Each hides the `DELETE` of a pending order, which a server might execute. */

/** A placeholder with the length of a key, so that Content-Length stays correct when it is replaced. */
export const KEY = "K".repeat(51);

export type Shape = readonly [name: string, bytes: string];

const HEAD = `Host: x\r\nAuthorization: Bearer ${KEY}\r\n`;
const hidden = `DELETE /v1/store/orders/1 HTTP/1.1\r\n${HEAD}\r\n`;
const outer = (fields: string, body = "") =>
  `DELETE /v1/store/orders/77 HTTP/1.1\r\n${HEAD}${fields}\r\n${body}`;
const inChunks = (body: string) => outer("Transfer-Encoding: chunked\r\n", body);
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Ambiguous: one request for one server and two for another. They get 400, and the connection is closed. */
export const REJECTED: readonly Shape[] = [
  [
    "a length and chunks (CL.TE)",
    outer(`Content-Length: ${hidden.length + 5}\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${hidden}`),
  ],
  [
    "chunks and a length (TE.CL)",
    outer("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", `${chunk(hidden)}0\r\n\r\n`),
  ],
  ["two lengths that differ", outer(`Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n`, hidden)],
  ["two lengths that agree", outer(`Content-Length: 0\r\nContent-Length: 0\r\n`, hidden)],
  ["two lengths in one field", outer("Content-Length: 0, 0\r\n", hidden)],
  ["a length with a sign", outer("Content-Length: +0\r\n", hidden)],
  ["a negative length", outer("Content-Length: -1\r\n", hidden)],
  ["a length in hexadecimal", outer("Content-Length: 0x0\r\n", hidden)],
  ["a length with a fraction", outer("Content-Length: 0.0\r\n", hidden)],
  ["a length beyond 64 bits", outer("Content-Length: 18446744073709551616\r\n", hidden)],
  ["an empty length", outer("Content-Length:\r\n", hidden)],
  ["a space before the colon of a length", outer(`Content-Length : ${hidden.length}\r\n`, hidden)],
  ["a space before the colon of a coding", outer("Transfer-Encoding : chunked\r\n", `0\r\n\r\n${hidden}`)],
  ["a folded line", outer("A: b\r\n Transfer-Encoding: chunked\r\n", `0\r\n\r\n${hidden}`)],
  ["a folded coding", outer("Transfer-Encoding:\r\n chunked\r\n", `0\r\n\r\n${hidden}`)],
  [
    "a first field with a space before it",
    `DELETE /v1/store/orders/77 HTTP/1.1\r\n A: b\r\n${HEAD}\r\n${hidden}`,
  ],
  ["a line that ends with LF alone", outer("A: b\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${hidden}`)],
  ["a head with LF line ends", outer("Content-Length: 0\r\n").replaceAll("\r", "") + hidden],
  ["a CR within a value", outer("A: b\rTransfer-Encoding: chunked\r\n", `0\r\n\r\n${hidden}`)],
  ["a CR before the colon", outer("Transfer-Encoding\r: chunked\r\n", `0\r\n\r\n${hidden}`)],
  ["a NUL within a value", outer("A: b\0\r\n", hidden)],
  ["a NUL within a name", outer("Transfer-Encoding\0: chunked\r\n", `0\r\n\r\n${hidden}`)],
  ["a NUL within the target", outer("").replace("/77", "/77\0") + hidden],
  ["a field without a name", outer(": chunked\r\n", hidden)],
  ["a field without a colon", outer("Transfer-Encoding\r\n", hidden)],
  ["two hosts", outer("Host: y\r\n", hidden)],
  ["two hosts that agree", outer("host: x\r\n", hidden)],
  ["no host", `DELETE /v1/store/orders/77 HTTP/1.1\r\nContent-Length: 0\r\n\r\n${hidden}`],
  ["an invalid host", outer("").replace("Host: x", "Host: x y") + hidden],
  ["a host with a path", outer("").replace("Host: x", "Host: x/v1") + hidden],
  ["a host with credentials", outer("").replace("Host: x", "Host: a@x") + hidden],
  ["two hosts in one field", outer("").replace("Host: x", "Host: x, y") + hidden],
  ["a URL of another host", outer("").replace(" /v1", " http://y/v1") + hidden],
  ["a URL of another scheme", outer("").replace(" /v1", " ftp://x/v1") + hidden],
  ["a target that is not a path", outer("").replace(" /v1", " v1") + hidden],
  ["an asterisk with another method than OPTIONS", outer("").replace("/v1/store/orders/77", "*") + hidden],
  ["a target with a fragment", outer("").replace("/77", "/77#a") + hidden],
  ["HTTP/2.0 as a version", outer("").replace("HTTP/1.1", "HTTP/2.0") + hidden],
  ["HTTP/1.2", outer("").replace("HTTP/1.1", "HTTP/1.2") + hidden],
  ["HTTP/0.9", `DELETE /v1/store/orders/77\r\n\r\n${hidden}`],
  ["an HTTP/2 preface", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden}`],
  ["CONNECT, followed by a request", `CONNECT x:443 HTTP/1.1\r\n${HEAD}\r\n${hidden}`],
  ["chunks in HTTP/1.0", inChunks(`0\r\n\r\n${hidden}`).replace("HTTP/1.1", "HTTP/1.0")],
  ["a chunk of a size beyond 64 bits", inChunks(`10000000000000000\r\n${hidden}`)],
  ["a chunk of a negative size", inChunks(`-1\r\n${hidden}`)],
  ["a chunk of a size with 0x", inChunks(`0x0\r\n\r\n${hidden}`)],
  ["a chunk of a size with a space", inChunks(`0 \r\n\r\n${hidden}`)],
  ["a chunk without a size", inChunks(`\r\n\r\n${hidden}`)],
  ["a chunk longer than its size", inChunks(`1\r\nab\r\n0\r\n\r\n${hidden}`)],
  ["a chunk line that ends with LF alone", inChunks(`0\n\n${hidden}`)],
  ["an extension with a line break", inChunks(`1;a\nb\r\nx\r\n0\r\n\r\n${hidden}`)],
  ["extensions beyond 16 KiB", inChunks(`1;${"a".repeat(17_000)}\r\nx\r\n0\r\n\r\n${hidden}`)],
  ["a length among the trailers", inChunks(`0\r\nContent-Length: 9\r\n\r\n${hidden}`)],
  ["an invalid trailer", inChunks(`0\r\nA b\r\n\r\n${hidden}`)],
];

/** Spellings that one server reads as chunked and another one does not (TE.TE). */
export const AMBIGUOUS_CODINGS = [
  ...["", "cow", "identity", "xchunked", "chunkedx", "chun ked", "chunked;q=1", '"chunked"'],
  ...["chunked, identity", "identity, chunked", "gzip, chunked", "chunked, chunked", "x, chunked"],
  ...["chunked,", ",chunked", "\x0bchunked", "chunked\x0b", "chunked\0", "\x00chunked"],
  ...["\xa0chunked", "chunked\x85"],
  "chunked\r\nTransfer-Encoding: cow",
  "cow\r\nTransfer-Encoding: chunked",
  "chunked\r\nTransfer-Encoding: chunked",
  "identity\r\nTransfer-Encoding: chunked",
] as const;

/** One request for every server: it gets one response, and the hidden request is not executed. */
export const SINGLE: readonly Shape[] = [
  ["a request in a body with a length", outer(`Content-Length: ${hidden.length}\r\n`, hidden)],
  ["a request in a chunk", inChunks(`${chunk(hidden)}0\r\n\r\n`)],
  [
    "a request in the chunks of a coding after a tab",
    outer("Transfer-Encoding:\tchunked\r\n", `${chunk(hidden)}0\r\n\r\n`),
  ],
  [
    "a request in the chunks of a coding in capitals",
    outer("TRANSFER-ENCODING: CHUNKED\r\n", `${chunk(hidden)}0\r\n\r\n`),
  ],
  [
    "a request in a chunk with an extension",
    inChunks(`${chunk(hidden).replace("\r\n", ";a=b\r\n")}0\r\n\r\n`),
  ],
  ["chunks with trailers", inChunks(`${chunk(hidden)}0\r\nHost: y\r\nA: b\r\n\r\n`)],
  ["a field name with an underscore instead of the hyphen", outer("Transfer_Encoding: chunked\r\n")],
  [
    "an upgrade to HTTP/2",
    outer("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
  ],
  [
    "an upgrade to a WebSocket",
    outer("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"),
  ],
  ["a URL of the same host", outer("").replace(" /v1", " http://X/v1")],
  ["empty lines before it", `\r\n\r\n${outer("")}`],
  [
    "another method in a field",
    outer("X-HTTP-Method-Override: GET\r\nX-Original-URL: /v1/store/orders/1\r\n"),
  ],
];

/** A chunked body with that spelling of the coding, and a request after it. */
export function withCoding(coding: string): string {
  return outer(`Transfer-Encoding: ${coding}\r\n`, `0\r\n\r\n${hidden}`);
}

/** Two requests in one write, as a proxy can combine those of two clients. */
export const PIPELINED = outer("") + hidden;
