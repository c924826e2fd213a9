import type { Clock, Instant } from "../clock.ts";
import { backoff } from "./backoff.ts";
import { ApiError, NetworkError, RateLimitedError, TimedOutError } from "./client-errors.ts";
import { readError } from "./error-response.ts";
import { readRateLimit } from "./rate-limit-report.ts";
import type { Answered, WaitingLine } from "./request-queue.ts";
import { abortable, type Sleep, startLimit } from "./time-limit.ts";

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** One request of a call, to be sent until it is answered. */
export interface Sending<T> {
  readonly method: "GET" | "DELETE";
  readonly url: string;
  readonly signal: AbortSignal;
  readonly deadline: Instant;
  /** What an answer of success is read into, still within the attempt: where this fails it is tried again. */
  readonly read: (response: Response, signal: AbortSignal) => Promise<T>;
}

/** What became of a request. */
export interface Sent<T> {
  readonly result: T | ApiError;
  /** True where an earlier attempt got no answer of the service, and may have been carried out all the same. */
  readonly unsure: boolean;
}

/** What a sender works with. */
export interface SenderOptions {
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly line: WaitingLine;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly attempts: number;
  readonly attemptTimeout: number;
  readonly longestWait: number;
}

/** Sends a request, through the line, until it is answered or may not be tried again. */
export type Sender = <T>(sending: Sending<T>) => Promise<Sent<T>>;

/** A refusal for the limits without `Retry-After` is left alone for a second at least. */
const SHORTEST_PAUSE = 1_000;

/** Makes a sender. */
export function createSender(options: SenderOptions): Sender {
  const { apiKey, fetch, line, clock, sleep, random, attempts, attemptTimeout, longestWait } = options;
  const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json" };

  /** What an answer means for those in line; on top of the wait that it asks for comes the jitter. */
  function meaningOf(response: Response, jitter: number): Answered {
    const { window, retryAfter } = readRateLimit(response.headers, clock());
    const told = window === undefined ? {} : { window };
    if (response.status === 429) {
      const reset = window?.remaining === 0 ? window.resetsIn : 0;
      return { ...told, pause: (retryAfter ?? Math.max(reset, SHORTEST_PAUSE)) + jitter };
    }
    return retryAfter === undefined ? told : { ...told, pause: retryAfter + jitter };
  }

  async function attempt<T>(
    { method, url, signal, read }: Sending<T>,
    jitter: number,
  ): Promise<T | ApiError> {
    const limit = startLimit(sleep, "attempt", attemptTimeout, signal);
    let answered: Answered = {};
    try {
      let response: Response;
      try {
        const init = { method, headers, signal: limit.signal, redirect: "manual" } as const;
        response = await abortable(fetch(url, init), limit.signal);
        answered = meaningOf(response, jitter);
      } finally {
        line.leave(answered);
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
      const retryAt = await line.enter({ signal, deadline, longestWait });
      if (retryAt !== undefined) throw new RateLimitedError(retryAt, { cause });
      const jitter = backoff(number, random);
      try {
        const result = await attempt(sending, jitter);
        if (!(result instanceof ApiError && result.retryable) || number >= attempts)
          return { result, unsure };
        unsure ||= result.status !== 429;
        cause = result;
      } catch (error) {
        const transient = error instanceof NetworkError || error instanceof TimedOutError;
        if (!transient || number >= attempts) throw error;
        unsure = true;
        cause = error;
      }
      await sleep(jitter, signal);
      signal.throwIfAborted();
    }
  };
}
