/** What of a process tells that it is to stop. */
export interface StoppableProcess {
  readonly ppid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  once(signal: "SIGTERM" | "SIGINT", heard: () => void): unknown;
}

const PARENT_CHECK = 250;

/**
 * Resolves when the process is asked to stop: once, so that a second signal ends it at once. Between this package's
 * npm scripts and the process stands a shell, which dies of the signal and does not pass it on: what is seen of that
 * is another parent.
 */
export function stopSignal(running: StoppableProcess): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) running.once(signal, resolve);
    if (running.env["npm_package_name"] !== "store-orders") return;
    const parent = running.ppid;
    const watch = setInterval(() => {
      if (running.ppid === parent) return;
      clearInterval(watch);
      resolve();
    }, PARENT_CHECK);
    watch.unref();
  });
}
