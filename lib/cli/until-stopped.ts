/**
 * Passes items on until a signal to stop. Ends at once then, even while the source waits for input that never arrives.
 * Returns true if the signal ended it.
 */
export async function* untilStopped<T>(
  source: AsyncIterable<T>,
  stop: Promise<unknown>,
): AsyncGenerator<T, boolean> {
  const items = source[Symbol.asyncIterator]();
  let stopped = false;
  let onStop = () => {};
  void stop.then(() => {
    stopped = true;
    onStop();
  });
  // A race with `stop` for each item would keep all of them in memory.
  while (!stopped) {
    const next = await new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
      onStop = () => resolve(undefined);
      items.next().then(resolve, reject);
    });
    if (next === undefined) return true;
    if (next.done) return false;
    yield next.value;
  }
  return true;
}
