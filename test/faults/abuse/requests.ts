/** Well-formed requests with hostile content. */
import fc from "fast-check";

/** The parts of a request. */
export interface HostileRequest {
  readonly method: string;
  /** Including the query. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
}

const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);

const INT64 = ["1", "2", "3", "9223372036854775807", "-9223372036854775808"];
const NOT_INT64 = [
  "9223372036854775808",
  "-0",
  "+1",
  "01",
  "1e3",
  "0x1",
  "1.0",
  "%31",
  "%2531",
  "1%00",
  "１",
  "%EF%BC%91",
  "NaN",
  "null",
  "..",
  "%2e%2e",
  "%2F",
  "%5c",
  "__proto__",
  "constructor",
  "1;2",
  "1,2",
  "1'--",
  "$(id)",
  "%",
  "%zz",
  "%c0%ae",
  "*",
];

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
const field = fc.oneof(
  fc.tuple(
    fieldName.map((name) => `x-${name}`),
    value,
  ),
  fc.tuple(
    oneOf(
      "accept",
      "accept-encoding",
      "content-type",
      "cookie",
      "if-none-match",
      "if-modified-since",
      "range",
      "origin",
      "x-forwarded-for",
      "x-forwarded-host",
      "x-forwarded-proto",
      "x-http-method-override",
      "x-original-url",
      "forwarded",
      "x-request-id",
      "via",
      "max-forwards",
      "te",
      "__proto__",
      "access-control-request-method",
    ),
    value,
  ),
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
export function hostileRequest(validKey: string): fc.Arbitrary<HostileRequest> {
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
