/** One page of a list is parsed or sent in each turn, so that other requests do not wait for lists. */
export const nextTurn: () => Promise<void> = createTurns();

/**
 * Returns a function whose promise resolves in a later turn of the event loop, for one caller in each turn. Work that
 * is divided into such turns delays other requests of the process by one part at most, however much there is of it.
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
