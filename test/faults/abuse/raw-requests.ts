/** Bytes for a socket: valid requests with hostile content, pipelined ones, damaged ones, and garbage. */
import fc from "fast-check";

interface HostileRequest {
  readonly method: string;
  /** Including the query. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
}

const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);

const INT64 = ["1", "2", "3", "9223372036854775807", "-9223372036854775808"];
const NOT_INT64 =
  "9223372036854775808 -0 +1 01 1e3 0x1 1.0 %31 %2531 1%00 １ %EF%BC%91 NaN null .. %2e%2e %2F %5c __proto__ constructor 1;2 1,2 1'-- $(id) % %zz %c0%ae *".split(
    " ",
  );

const segment = fc.oneof(
  { weight: 4, arbitrary: oneOf("v1", "store", "orders", "pets", "openapi.json", "docs") },
  { weight: 3, arbitrary: oneOf(...INT64) },
  { weight: 2, arbitrary: oneOf(...NOT_INT64) },
  { weight: 1, arbitrary: fc.webSegment() },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 20 }).map(encodeURIComponent) },
  { weight: 1, arbitrary: fc.bigInt().map(String) },
);

const path = fc.oneof(
  { weight: 3, arbitrary: segment.map((id) => `/v1/store/orders/${id}`) },
  { weight: 1, arbitrary: segment.map((id) => `/v1/pets/${id}`) },
  {
    weight: 2,
    arbitrary: oneOf(
      "/v1/store/orders",
      "/openapi.json",
      "/docs",
      "/",
      "/v1",
      "/v1/store/orders/",
      "//v1/store/orders",
    ),
  },
  { weight: 2, arbitrary: fc.array(segment, { maxLength: 8 }).map((segments) => `/${segments.join("/")}`) },
);

const query = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.webQueryParameters().map((text) => `?${text}`) },
);

/** Characters of a field value (RFC 9110, section 5.5). */
const value = fc.string({
  unit: oneOf(..."abcXYZ019 \t\"'(),/:;<=>?@[\\]{}~\x80\xa0\xff"),
  maxLength: 60,
});

const fieldName = fc.string({ unit: oneOf(..."abcdefxyz0189!#$%&'*+-.^_`|~"), minLength: 1, maxLength: 20 });

/** Fields that a service, a framework or a proxy might act on. */
const NAMES =
  "accept accept-encoding content-type cookie if-none-match if-modified-since range origin x-forwarded-for x-forwarded-host x-forwarded-proto x-http-method-override x-original-url forwarded x-request-id via max-forwards te __proto__ access-control-request-method".split(
    " ",
  );
const field = fc.oneof(
  fc.tuple(
    fieldName.map((name) => `x-${name}`),
    value,
  ),
  fc.tuple(oneOf(...NAMES), value),
  fc.tuple(
    fc.constant("accept-encoding"),
    oneOf(
      "gzip",
      "gzip;q=0",
      "*",
      "gzip;q=abc",
      "br, gzip;q=1e9",
      "gzip;q=-1",
      ";;,,;q=",
      "identity;q=0",
      "x-gzip",
    ),
  ),
  fc.tuple(fc.constant("range"), oneOf("bytes=0-0", "bytes=-1", "bytes=0-,0-,0-,0-", "bytes=9-1", "lines=1")),
);

/** Valid and invalid Authorization fields; `good` is a valid key. */
function authorization(validKey: string) {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(`Bearer ${validKey}`) },
    {
      weight: 1,
      arbitrary: oneOf(
        `bearer   ${validKey}`,
        validKey,
        `Basic ${validKey}`,
        "Bearer",
        "Bearer ",
        `Bearer ${validKey}${validKey}`,
      ),
    },
    {
      weight: 1,
      arbitrary: oneOf(
        `Bearer ${validKey}, Bearer ${validKey}`,
        `Bearer ${validKey.slice(0, -1)}`,
        `Bearer ${validKey.toUpperCase()}`,
      ),
    },
    { weight: 1, arbitrary: value.map((text) => `Bearer ${text}`) },
    { weight: 1, arbitrary: value },
  );
}

/** Generates requests; `good` is a valid key. */
function hostileRequest(validKey: string): fc.Arbitrary<HostileRequest> {
  const method = fc.oneof(
    { weight: 6, arbitrary: oneOf("GET", "DELETE", "HEAD") },
    { weight: 2, arbitrary: oneOf("POST", "PUT", "PATCH", "OPTIONS") },
  );
  const headers = fc.tuple(
    fc.option(authorization(validKey), { nil: undefined, freq: 8 }),
    fc.uniqueArray(field, { maxLength: 6, selector: ([name]) => name.toLowerCase() }),
  );
  return fc.record(
    {
      method,
      path: fc.tuple(path, query).map((parts) => parts.join("")),
      headers: headers.map(([credentials, fields]) =>
        credentials === undefined ? fields : [["authorization", credentials] as const, ...fields],
      ),
      body: fc.oneof(fc.json(), fc.string({ unit: "binary", maxLength: 2_000 })),
    },
    { requiredKeys: ["method", "path", "headers"] },
  );
}

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
  { chunked, host }: { readonly chunked: boolean; readonly host: string },
  last: boolean,
): string {
  const fields = [["host", host], ...headers];
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

/** Most requests are to the service's own name. */
const host = fc.oneof(
  { weight: 9, arbitrary: fc.constant("localhost") },
  { weight: 1, arbitrary: fc.constantFrom("orders.example.com", "www.example.com", "evil.example.net") },
);

/** Generates bytes to send, with a valid key in most requests. */
export function rawBytes(validKey: string): fc.Arbitrary<RawBytes> {
  const request = fc.tuple(hostileRequest(validKey), fc.record({ chunked: fc.boolean(), host }));
  const valid = request.map(([hostile, how]) => ({
    kind: "valid" as const,
    bytes: formatRequest(hostile, how, true),
    methods: [hostile.method],
  }));
  const pipelined = fc.array(request, { minLength: 2, maxLength: 8 }).map((requests) => ({
    kind: "pipelined" as const,
    bytes: requests
      .map(([hostile, how], at) => formatRequest(hostile, how, at === requests.length - 1))
      .join(""),
    methods: requests.map(([{ method }]) => method),
  }));
  const broken = fc
    .tuple(request, fc.array(damage, { minLength: 1, maxLength: 3 }))
    .filter(([[{ method }]]) => method !== "HEAD")
    .map(([[hostile, how], changes]) => ({
      kind: "damaged" as const,
      bytes: changes.reduce(
        (bytes, { at, change }) => damaged(bytes, at, change),
        formatRequest(hostile, how, true),
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
