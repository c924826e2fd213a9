/** A moment in milliseconds since the Unix epoch, UTC. */
export type Instant = number;

/** Returns the current instant. Every rule takes its time from a clock or as an argument. */
export type Clock = () => Instant;

/** The machine's own clock. */
export const systemClock: Clock = () => Date.now();

/** The longest delay of a timer, in milliseconds. A timer with a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The time within which every call of a store settles, in milliseconds; for a list, every page. */
export const MAX_STORE_CALL_MS = 5_000;

/** One page of a list is parsed or sent in each turn, so that other requests do not wait for lists. */
export const nextTurn: () => Promise<void> = createTurns();

/** Returns a function whose promise resolves in a later turn of the event loop, for `callersPerTurn` in each turn. */
export function createTurns(callersPerTurn = 1): () => Promise<void> {
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

/** `setImmediate` is not part of the Web standards. */
function schedule(callback: () => void): void {
  if (typeof setImmediate === "function") setImmediate(callback);
  else setTimeout(callback, 0);
}
