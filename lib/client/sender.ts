import { abortable } from "../core/concurrency.ts";
import { backoffMs } from "../core/time.ts";
import { ApiError, NetworkError, RateLimitedError } from "./client-errors.ts";
import type { ClientOptions } from "./options.ts";
import { type createRequestQueue, type QueueFeedback, readFeedback } from "./request-queue.ts";
import { readError } from "./response.ts";
import { startTimeLimit } from "./time-limit.ts";

interface ApiRequest<T> {
  readonly method: "GET" | "DELETE";
  readonly url: string;
  readonly signal: AbortSignal;
  /** As a time of `elapsedMs`. */
  readonly deadline: number;
  readonly isSuccess: (response: Response) => boolean;
  /** Reads a successful response. It is part of the attempt: if it fails, the request is retried. */
  readonly read: (response: Response, signal: AbortSignal) => Promise<T>;
}

interface SenderOptions
  extends Required<Omit<ClientOptions, "baseUrl" | "elapsedMs" | "idleTimeoutMs" | "totalTimeoutMs">> {
  readonly queue: ReturnType<typeof createRequestQueue>;
}

/** `ambiguous`: an earlier attempt got no definite response, so the service may have executed it. */
type Sender = <T>(
  request: ApiRequest<T>,
) => Promise<{ ok: true; value: T } | { ok: false; error: ApiError; ambiguous: boolean }>;

/** The longest wait before the second attempt, and before any; see `backoffMs`. */
const MIN_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

export function createSender(options: SenderOptions): Sender {
  const { apiKey, fetch, queue, clock, sleep, random, maxAttempts, attemptTimeoutMs, maxWaitMs } = options;
  const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json" };

  async function attempt<T>(
    { method, url, signal, isSuccess, read }: ApiRequest<T>,
    jitterMs: number,
  ): Promise<T | ApiError> {
    const limit = startTimeLimit("attempt", attemptTimeoutMs, signal);
    let feedback: QueueFeedback = {};
    try {
      let response: Response;
      try {
        const init = { method, headers, signal: limit.signal, redirect: "manual" } as const;
        const sent = (async () => fetch(url, init))();
        response = await abortable(sent, limit.signal).catch((error: unknown) => {
          throw isNetworkFailure(error) && !isRefused(error, url, init) ? error : new PassedOn(error);
        });
        feedback = readFeedback(response, clock(), jitterMs);
      } finally {
        queue.release(feedback);
      }
      return await (isSuccess(response) ? read(response, limit.signal) : readError(response, limit.signal));
    } catch (cause) {
      limit.signal.throwIfAborted();
      if (cause instanceof PassedOn) throw cause;
      throw new NetworkError("The connection to the service failed.", { cause });
    } finally {
      limit.release();
    }
  }

  return async function send(request) {
    const { signal, deadline } = request;
    let ambiguous = false;
    for (let attemptNumber = 1, cause: unknown; ; attemptNumber++) {
      const tooLong = await queue.acquire({ signal, deadline, maxWaitMs });
      if (tooLong !== undefined) throw new RateLimitedError(tooLong.retryAt, { cause });
      const jitterMs = Math.round(backoffMs(attemptNumber - 1, MIN_DELAY_MS, MAX_DELAY_MS, random));
      try {
        const result = await attempt(request, jitterMs);
        if (!(result instanceof ApiError)) return { ok: true, value: result };
        if (!result.retryable || attemptNumber >= maxAttempts) return { ok: false, error: result, ambiguous };
        ambiguous ||= result.status !== 425 && result.status !== 429;
        cause = result;
      } catch (error) {
        if (error instanceof PassedOn) throw error.error;
        if (signal.aborted || attemptNumber >= maxAttempts) throw error;
        ambiguous = true;
        cause = error;
      }
      await sleep(jitterMs, signal);
      signal.throwIfAborted();
    }
  };
}

/** What a `fetch` has thrown that is no failure of the network, such as the control flow of a framework. */
class PassedOn {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

/** True if nothing was sent: some test environments have an `AbortSignal` that their `fetch` refuses. */
function isRefused(error: unknown, url: string, init: RequestInit): boolean {
  try {
    new Request(url, init);
    return false;
  } catch (cause) {
    return Object(cause).message === Object(error).message;
  }
}

/** By name and code, because the error can come from another realm or another `fetch`. */
function isNetworkFailure(error: unknown): boolean {
  const { name, code, digest } = Object(error) as Readonly<Record<"name" | "code" | "digest", unknown>>;
  // React and Next.js mark their control flow with a digest.
  if (digest !== undefined) return false;
  if (/^(TypeError|AbortError|TimeoutError|NetworkError|FetchError)$/.test(`${name}`)) return true;
  return /^(E[A-Z0-9]+|UND_ERR_\w+|ERR_\w+|Connection\w+|FailedToOpenSocket)$/.test(`${code}`);
}
