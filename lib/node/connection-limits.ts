import { InvalidInputError } from "../errors.ts";

/** What one client may take of a server. Times in milliseconds. */
export interface ConnectionLimits {
  /** In which the head of a request arrives, counted from the connection's beginning for its first. @default 10_000 */
  readonly headersTimeoutMs: number;
  /** In which a whole request arrives. @default 30_000 */
  readonly requestTimeoutMs: number;
  /** For which a connection may rest between two requests. @default 5_000 */
  readonly keepAliveTimeoutMs: number;
  /**
   * In which the client takes each part of an answer. A part is a page of the list at most, so that this is a least
   * rate: a byte now and then does not keep a connection. @default 30_000
   */
  readonly writeTimeoutMs: number;
  /** How long a connection is still read from after it was refused, so that the refusal arrives. @default 1_000 */
  readonly lingerTimeoutMs: number;
  /** Connections at a time; what comes beyond is closed at once. @default 10_000 */
  readonly maxConnections: number;
}

/**
 * There is no limit of requests on a connection: each is counted for its key or its address anyway. Nor one of header
 * fields beside the size of a head: Node would drop those beyond unseen.
 */
export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  writeTimeoutMs: 30_000,
  lingerTimeoutMs: 1_000,
  maxConnections: 10_000,
};

/** The limits with their defaults. Throws `InvalidInputError` where one of them is none. */
export function limitsWith(given: Partial<ConnectionLimits> = {}): ConnectionLimits {
  const limits = { ...DEFAULT_CONNECTION_LIMITS, ...given };
  const issues = Object.entries(limits).flatMap(([name, limit]) =>
    Number.isInteger(limit) && limit > 0 && limit <= MAX_TIMER_MS
      ? []
      : [{ path: `limits.${name}`, message: `Give a whole number from 1 to ${MAX_TIMER_MS}.` }],
  );
  if (issues.length === 0 && limits.headersTimeoutMs > limits.requestTimeoutMs) {
    issues.push({
      path: "limits.head",
      message: "Give no more than limits.request: a head is a part of it.",
    });
  }
  if (issues.length > 0) throw new InvalidInputError(issues);
  return limits;
}

/** Milliseconds that a timer can wait: beyond, it would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The longest target of a request, in characters. */
export const MAX_URL_CHARS = 8 * 1024;

/** The largest head of a request, in bytes. */
export const MAX_HEADER_BYTES = 16 * 1024;

/** The largest body of a request, in bytes: what API Gateway lets through. No operation takes one. */
export const MAX_BODY_BYTES = 10 * 1024 * 1024;
