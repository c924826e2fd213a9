/** A queue of work with bounded concurrency. */
export interface Queue<T> {
  push(item: T): void;
  /** Resolves when everything has been processed. */
  drained(): Promise<void>;
}

/** Creates a queue that processes at most `concurrency` items at the same time. */
export function createQueue<T>(concurrency: number, process: (item: T) => Promise<void>): Queue<T> {
  const waiting: T[] = [];
  let running = 0;
  let { promise, resolve } = Promise.withResolvers<void>();

  async function run(item: T): Promise<void> {
    running += 1;
    await process(item);
    running -= 1;
    const next = waiting.shift();
    if (next !== undefined) void run(next);
    else if (running === 0) resolve();
  }

  return {
    push(item) {
      if (running === 0) ({ promise, resolve } = Promise.withResolvers<void>());
      if (running < concurrency) void run(item);
      else waiting.push(item);
    },
    drained: () => (running === 0 ? Promise.resolve() : promise),
  };
}
