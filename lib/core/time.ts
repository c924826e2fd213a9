import { InvalidInputError, invalidInput } from "./errors.ts";

/** A moment in whole milliseconds since the Unix epoch, UTC, until the end of the year 9999. */
export type Instant = number;

/** Returns the current instant. Every rule takes its time from a clock or as an argument. */
export type Clock = () => Instant;

/** The machine's own clock. */
export const systemClock: Clock = () => Date.now();

/** The end of the year 9999. No date-time of RFC 3339 is later. */
const MAX_INSTANT: Instant = 253_402_300_799_999;

export function assertInstant(value: unknown, path: string): Instant {
  const isNumber = typeof value === "number";
  if (isNumber && Number.isInteger(value) && value >= 0 && value <= MAX_INSTANT) return value;
  const found = isNumber ? `${value}` : value instanceof Date ? "a Date" : typeof value;
  const message = `It is ${found}. Use whole milliseconds since 1970, such as Date.now(); Math.floor() removes a fraction.`;
  throw invalidInput(path, message);
}

/** No rule could tell a wrong clock: a `Date` compares like a number and adds like a string, and NaN is never late. */
export function wholeClock(clock: Clock): Clock {
  return () => assertInstant(clock(), "clock");
}

/** The longest delay of a timer, in milliseconds. A timer with a longer one fires at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** `within` is the path of the limits, such as `limits.`. */
export function assertLimits(limits: Readonly<Record<string, number>>, within = ""): void {
  const isLimit = (limit: number) => Number.isInteger(limit) && limit >= 1 && limit <= MAX_TIMER_MS;
  const wrong = Object.keys(limits).filter((name) => !isLimit(limits[name] ?? 0));
  const message = `Use a whole number from 1 to ${MAX_TIMER_MS}.`;
  if (wrong.length > 0) throw new InvalidInputError(wrong.map((name) => ({ path: within + name, message })));
}

/** Exponential backoff with full jitter: a random time up to a bound, which doubles from `minMs` with each retry. */
export function backoffMs(retries: number, minMs: number, maxMs: number, random = Math.random): number {
  return random() * Math.min(maxMs, minMs * 2 ** retries);
}

/** The time within which every call of a store settles, in milliseconds; for a list, every page. */
export const MAX_STORE_CALL_MS = 5_000;

/** The time of a call in its database, in milliseconds. The rest of `MAX_STORE_CALL_MS` is for its own time. */
export const CALL_TIMEOUT_MS = MAX_STORE_CALL_MS - 500;

/** A wait with the system's timers. Resolves after the given time, or as soon as the signal aborts; never rejects. */
export function waitForTimer(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(Math.ceil(ms), MAX_TIMER_MS));
    signal.addEventListener("abort", done);
  });
}

/** One page of a list is parsed or sent in each turn, so that other requests do not wait for lists. */
export const nextTurn: () => Promise<void> = /* @__PURE__ */ createTurnQueue();

/** Returns a function whose promise resolves in a later turn of the event loop, for `callersPerTurn` in each turn. */
export function createTurnQueue(callersPerTurn = 1): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const endTurn = () => {
    for (const resolve of waiting.splice(0, callersPerTurn)) resolve();
    if (waiting.length > 0) schedule(endTurn);
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) schedule(endTurn);
    });
}

/** Runs a callback in a later turn. Chosen as this file is loaded, because fake timers would never run it. */
export const schedule: (callback: () => void) => void = /* @__PURE__ */ chooseScheduler();

function chooseScheduler(): (callback: () => void) => void {
  const later = setTimeout;
  // It is not part of the Web standards.
  return typeof setImmediate === "function" ? setImmediate : (callback) => later(callback, 0);
}
