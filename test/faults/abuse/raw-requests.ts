/** Bytes for a socket: valid requests, pipelined ones, damaged ones, and garbage. */
import fc from "fast-check";
import { type HostileRequest, hostileRequest } from "./requests.ts";

/** What is sent on one connection, as latin1. The server responds and closes the connection. */
export interface RawBytes {
  readonly kind: "valid" | "pipelined" | "damaged" | "garbage";
  readonly bytes: string;
  /** The methods of the requests that must get a response. */
  readonly methods: readonly string[];
}

/** Formats a request. The last one of a connection has `Connection: close`. */
function formatRequest(
  { method, path, headers, body }: HostileRequest,
  chunked: boolean,
  last: boolean,
): string {
  const fields = [["host", "localhost"], ...headers];
  if (last) fields.push(["connection", "close"]);
  const content = body === undefined ? "" : Buffer.from(body).toString("latin1");
  if (body !== undefined)
    fields.push(chunked ? ["transfer-encoding", "chunked"] : ["content-length", `${content.length}`]);
  const head = [
    `${method} ${toTarget(path)} HTTP/1.1`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ];
  const sent = chunked && content !== "" ? toChunks(content) : content;
  return `${head.join("\r\n")}\r\n\r\n${sent}${chunked && body !== undefined ? "0\r\n\r\n" : ""}`;
}

/** A target without a fragment and with other than ASCII characters percent-encoded. */
function toTarget(path: string): string {
  return path.replace(/#.*$/, "").replace(/[^!-~]/g, encodeURIComponent);
}

function toChunks(content: string): string {
  const parts = content.match(/.{1,512}/gs) ?? [];
  return parts.map((part) => `${part.length.toString(16)};a="b"\r\n${part}\r\n`).join("");
}

/** One change to the bytes, at a fraction of their length. */
const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  change: fc.oneof(
    fc.constantFrom("cut", "double", "swap", "drop"),
    fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 4 }),
    fc.constantFrom(
      "\r\n",
      "\n",
      "\r",
      "\0",
      " ",
      ":",
      "\r\n\r\n",
      "HTTP/1.1",
      "0\r\n\r\n",
      "a".repeat(20_000),
      "\xff",
    ),
  ),
});

function damaged(bytes: string, at: number, change: string): string {
  const position = Math.floor(at * bytes.length);
  const [before, after] = [bytes.slice(0, position), bytes.slice(position)];
  switch (change) {
    case "cut":
      return before;
    case "double":
      return before + after.slice(0, 40) + after;
    case "swap":
      return before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2);
    case "drop":
      return before + after.slice(1 + (position % 7));
    default:
      return before + change + after;
  }
}

/** Generates bytes to send; `good` is a valid key. */
export function rawBytes(validKey: string): fc.Arbitrary<RawBytes> {
  const request = fc.tuple(hostileRequest(validKey), fc.boolean());
  const valid = request.map(([hostile, chunked]) => ({
    kind: "valid" as const,
    bytes: formatRequest(hostile, chunked, true),
    methods: [hostile.method],
  }));
  const pipelined = fc.array(request, { minLength: 2, maxLength: 8 }).map((requests) => ({
    kind: "pipelined" as const,
    bytes: requests
      .map(([hostile, chunked], at) => formatRequest(hostile, chunked, at === requests.length - 1))
      .join(""),
    methods: requests.map(([{ method }]) => method),
  }));
  const broken = fc
    .tuple(request, fc.array(damage, { minLength: 1, maxLength: 3 }))
    .filter(([[{ method }]]) => method !== "HEAD")
    .map(([[hostile, chunked], changes]) => ({
      kind: "damaged" as const,
      bytes: changes.reduce(
        (bytes, { at, change }) => damaged(bytes, at, change),
        formatRequest(hostile, chunked, true),
      ),
      methods: [],
    }));
  const garbage = fc
    .oneof(fc.string({ unit: "binary-ascii", maxLength: 400 }), fc.uint8Array({ maxLength: 400 }).map(latin1))
    .map((bytes) => ({ kind: "garbage" as const, bytes, methods: [] }));
  return fc.oneof(
    { weight: 3, arbitrary: valid },
    { weight: 2, arbitrary: pipelined },
    { weight: 4, arbitrary: broken },
    { weight: 1, arbitrary: garbage },
  );
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}
