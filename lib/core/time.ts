/** A moment in milliseconds since the Unix epoch, UTC. */
export type Instant = number;

/** Returns the current instant. Every rule takes its time from a clock or as an argument. */
export type Clock = () => Instant;

/** The machine's own clock. */
export const systemClock: Clock = () => Date.now();

/** The longest delay of a timer, in milliseconds. A timer with a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** One page of a list is parsed or sent in each turn, so that other requests do not wait for lists. */
export const nextTurn: () => Promise<void> = createTurns();

/**
 * Returns a function whose promise resolves in a later turn of the event loop, for one caller in each turn. A task that
 * is divided into such turns delays other requests of the process by one part at most, however long it is.
 */
export function createTurns(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const endTurn = () => {
    waiting.shift()?.();
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
