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
