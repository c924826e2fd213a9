import type { Clock, Instant } from "../clock.ts";
import { backoff } from "./backoff.ts";
import { ApiError, NetworkError, RateLimitedError, TimeoutError } from "./client-errors.ts";
import { readError } from "./error-response.ts";
import { readRateLimit } from "./rate-limit-report.ts";
import type { QueueFeedback, RequestQueue } from "./request-queue.ts";
import { abortable, type Sleep, startLimit } from "./time-limit.ts";

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** One request of a call, to be sent until it is answered. */
export interface Attempted<T> {
  readonly method: "GET" | "DELETE";
  readonly url: string;
  readonly signal: AbortSignal;
  readonly deadline: Instant;
  /** What an answer of success is read into, still within the attempt: where this fails it is tried again. */
  readonly read: (response: Response, signal: AbortSignal) => Promise<T>;
}

/** What became of a request. */
export interface SendResult<T> {
  readonly result: T | ApiError;
  /** True where an earlier attempt got no answer of the service, and may have been carried out all the same. */
  readonly ambiguous: boolean;
}

/** What a sender works with. */
export interface SenderOptions {
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly line: RequestQueue;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly maxAttempts: number;
  readonly attemptTimeoutMs: number;
  readonly maxWaitMs: number;
}

/** Sends a request, through the line, until it is answered or may not be tried again. */
export type Sender = <T>(sending: Attempted<T>) => Promise<SendResult<T>>;

/** A refusal for the limits without `Retry-After` is left alone for a second at least. */
const MIN_PAUSE_MS = 1_000;

/** Makes a sender. */
export function createSender(options: SenderOptions): Sender {
  const { apiKey, fetch, line, clock, sleep, random, maxAttempts, attemptTimeoutMs, maxWaitMs } = options;
  const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json" };

  /** What an answer means for those in line; on top of the wait that it asks for comes the jitter. */
  function queueFeedback(response: Response, jitter: number): QueueFeedback {
    const { window, retryAfter } = readRateLimit(response.headers, clock());
    const windowUpdate = window === undefined ? {} : { window };
    if (response.status === 429) {
      const reset = window?.remaining === 0 ? window.resetsIn : 0;
      return { ...windowUpdate, pause: (retryAfter ?? Math.max(reset, MIN_PAUSE_MS)) + jitter };
    }
    return retryAfter === undefined ? windowUpdate : { ...windowUpdate, pause: retryAfter + jitter };
  }

  async function attempt<T>(
    { method, url, signal, read }: Attempted<T>,
    jitter: number,
  ): Promise<T | ApiError> {
    const limit = startLimit(sleep, "attempt", attemptTimeoutMs, signal);
    let answered: QueueFeedback = {};
    try {
      let response: Response;
      try {
        const init = { method, headers, signal: limit.signal, redirect: "manual" } as const;
        response = await abortable(fetch(url, init), limit.signal);
        answered = queueFeedback(response, jitter);
      } finally {
        line.release(answered);
      }
      return await abortable<T | ApiError>(
        response.ok ? read(response, limit.signal) : readError(response),
        limit.signal,
      );
    } catch (cause) {
      limit.signal.throwIfAborted();
      throw new NetworkError("The service could not be reached.", { cause });
    } finally {
      limit.release();
    }
  }

  return async function send(sending) {
    const { signal, deadline } = sending;
    let unsure = false;
    for (let number = 1, cause: unknown; ; number++) {
      const retryAt = await line.acquire({ signal, deadline, maxWaitMs });
      if (retryAt !== undefined) throw new RateLimitedError(retryAt, { cause });
      const jitter = backoff(number, random);
      try {
        const result = await attempt(sending, jitter);
        if (!(result instanceof ApiError && result.retryable) || number >= maxAttempts)
          return { result, ambiguous: unsure };
        unsure ||= result.status !== 429;
        cause = result;
      } catch (error) {
        const transient = error instanceof NetworkError || error instanceof TimeoutError;
        if (!transient || number >= maxAttempts) throw error;
        unsure = true;
        cause = error;
      }
      await sleep(jitter, signal);
      signal.throwIfAborted();
    }
  };
}
