/** The end of a command before it is done. */

type StopSignal = "SIGTERM" | "SIGINT" | "SIGHUP";

/** The part of `process` that reports a request to stop. */
export interface SignalSource {
  readonly ppid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  once(signal: StopSignal, listener: () => void): unknown;
  on(signal: StopSignal, listener: () => void): unknown;
}

const PARENT_CHECK_INTERVAL_MS = 250;

/**
 * Resolves at the first signal to stop, with its name. A second SIGTERM or SIGINT ends the process immediately; SIGHUP
 * does not, since a terminal that closes can send it twice. npm scripts run in a shell, which a signal ends without
 * being forwarded to this process. Under this package's npm scripts, a new parent process therefore counts as a signal.
 */
export function waitForStopSignal(source: SignalSource): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) source.once(signal, () => resolve(signal));
    source.on("SIGHUP", () => resolve("SIGHUP"));
    if (source.env["npm_package_name"] !== "store-orders") return;
    const parent = source.ppid;
    const timer = setInterval(() => {
      if (source.ppid === parent) return;
      clearInterval(timer);
      resolve("the end of the npm script");
    }, PARENT_CHECK_INTERVAL_MS);
    timer.unref();
  });
}

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
