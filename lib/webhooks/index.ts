/**
 * Webhooks as Standard Webhooks describes them (https://www.standardwebhooks.com): each change of an order is a signed
 * POST request.
 *
 * ```ts
 * const delivery = deliverChanges({ store, deliver: webhook({ url, secret: "whsec_…" }) });
 * ```
 *
 * @module store-orders/webhooks
 */
import { Webhook } from "standardwebhooks";
import { assertOptions, InvalidInputError, type Issue } from "../core/errors.ts";
import { parseHttpDate, parseRetryAfter } from "../core/retry-after.ts";
import { assertLimits, type Clock, systemClock, wholeClock } from "../core/time.ts";
import { changeToJson, type DeliveredChange } from "../orders/delivery.ts";

export type { DeliveredChange } from "../orders/delivery.ts";

/** Options of `webhook`. */
export interface WebhookOptions {
  /** The address of the receiver: https, or http for one on this machine or in its network. */
  readonly url: string;
  /**
   * The secret that signs, or several: a receiver that knows one of them accepts. So a secret is replaced without a
   * gap: add the new one, let the receiver change, remove the old one. `whsec_` and at least 24 bytes as Base64.
   */
  readonly secret: string | readonly string[];
  /** The time for the response, in milliseconds. @default 15,000 */
  readonly timeoutMs?: number;
  /** @default the global `fetch` */
  readonly fetch?: typeof fetch;
  /** Returns the time of a request, which the receiver compares with its own. @default the system clock */
  readonly clock?: Clock;
}

/**
 * A delivery that failed. `retryable` is false after a 410: the receiver wants no more, and gets none from this process.
 * `retryAfterMs` is the time for which a receiver that is overloaded (429, 503) wants nothing.
 */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  constructor(
    message: string,
    options: ErrorOptions & { readonly retryable?: boolean; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.retryable = options.retryable ?? true;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * Creates a `deliver` for `deliverChanges` that sends each change to a receiver, which has accepted it if it answers with
 * a 2xx status. Redirects are not followed. The header `webhook-id` is the `id` of the change.
 *
 * @throws {InvalidInputError} if the URL, a secret or the time is invalid
 */
export function webhook(
  options: WebhookOptions,
): (change: DeliveredChange, signal?: AbortSignal) => Promise<void> {
  assertOptions(options, ["url", "secret", "timeoutMs", "fetch", "clock"]);
  const { url, secret, timeoutMs = 15_000, clock = systemClock } = options;
  const { fetch = (input, init) => globalThis.fetch(input, init) } = options;
  assertLimits({ timeoutMs });
  const secrets = [secret].flat();
  const issues = [...findUrlIssues(url), ...findSecretIssues(secrets)];
  if (issues.length > 0) throw new InvalidInputError(issues);
  const now = wholeClock(clock);
  const signers = secrets.map((each) => new Webhook(each));
  const host = new URL(url).host;
  const isGone = `${host} has answered 410, so this process sends nothing more until it is restarted.`;
  let gone: WebhookError | undefined;

  return async (change, signal) => {
    if (gone !== undefined) throw gone;
    const sentAt = new Date(now());
    const body = `{"type":"order.${change.event}","timestamp":"${new Date(change.at).toISOString()}","data":${changeToJson(change)}}`;
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "store-orders",
        "webhook-id": change.id,
        "webhook-timestamp": `${Math.floor(sentAt.getTime() / 1_000)}`,
        "webhook-signature": signers.map((signer) => signer.sign(change.id, sentAt, body)).join(" "),
      },
      body,
      redirect: "manual",
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    }).catch((cause) => {
      const reason =
        cause?.name === "TimeoutError" ? `did not answer within ${timeoutMs} ms` : "cannot be reached";
      throw new WebhookError(`${host} ${reason}.`, { cause });
    });
    // Whatever the receiver sends is not read.
    await response.body?.cancel().catch(() => {});
    if (response.ok) return;
    if (response.status === 410) {
      gone = new WebhookError(isGone, { retryable: false });
      throw gone;
    }
    const isOverloaded = response.status === 429 || response.status === 503;
    // By the receiver's own clock, if it says so.
    const receivedAt = parseHttpDate(response.headers.get("date"), now()) ?? now();
    const askedMs = parseRetryAfter(response.headers.get("retry-after"), receivedAt) ?? 0;
    const retryAfterMs = isOverloaded ? Math.max(MIN_WAIT_MS, askedMs) : undefined;
    throw new WebhookError(`${host} answered ${response.status}.`, { retryAfterMs });
  };
}

const MIN_WAIT_MS = 1_000;

function findUrlIssues(url: string): readonly Issue[] {
  const { protocol, username, password } = URL.parse(url) ?? {};
  // `fetch` rejects an address with a password, with a message that contains it.
  if ((protocol === "https:" || protocol === "http:") && username === "" && password === "") return [];
  return [{ path: "url", message: "Write an address that begins with https://, without credentials." }];
}

/** At least 24 bytes: https://github.com/standard-webhooks/standard-webhooks, "Signature scheme". */
const SECRET = /^whsec_(?:[A-Za-z0-9+/]{4}){8,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function findSecretIssues(secrets: readonly string[]): readonly Issue[] {
  if (secrets.length > 0 && secrets.every((secret) => SECRET.test(secret))) return [];
  const message =
    "Write whsec_ and at least 24 random bytes as Base64: echo whsec_$(openssl rand -base64 32)";
  return [{ path: "secret", message }];
}
