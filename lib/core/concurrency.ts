import { StoreUnavailableError } from "./errors.ts";
import { nextTurn } from "./time.ts";

/** Maps values in order with at most `concurrency` calls at the same time. After a failure, no further call starts. */
export async function mapBounded<T, R>(
  values: readonly T[],
  concurrency: number,
  map: (value: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(values.length);
  let next = 0;
  const work = async () => {
    while (next < values.length) {
      const index = next++;
      try {
        results[index] = await map(values[index] as T);
      } catch (error) {
        next = values.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, values.length)) }, work));
  return results;
}

/** Runs the tasks of each key one after another, in the order of their arrival. */
export function createTurns<K>() {
  const last = new Map<K, Promise<unknown>>();
  return {
    has: (key: K): boolean => last.has(key),
    run<T>(key: K, task: () => Promise<T>): Promise<T> {
      const running = (last.get(key) ?? Promise.resolve()).then(task, task);
      last.set(key, running);
      const remove = () => last.get(key) === running && last.delete(key);
      running.then(remove, remove);
      return running;
    },
  };
}

/** Tracks calls, so that whoever closes what they need can wait for them. */
export function createPending() {
  const pending = new Set<Promise<unknown>>();
  return {
    track<T>(call: Promise<T>): Promise<T> {
      pending.add(call);
      const remove = () => void pending.delete(call);
      call.then(remove, remove);
      return call;
    },
    /** Resolves when no call is pending. A call can begin the next one in the turn in which it settles. */
    async settled(): Promise<void> {
      while (pending.size > 0) await Promise.allSettled(pending).then(nextTurn);
    },
  };
}

/** Settles like a call, by default of a store, but rejects with `StoreUnavailableError` if that takes longer. */
export async function settleWithin<T>(ms: number, call: T | Promise<T>, called = "The store"): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const message = `${called} did not respond within ${ms} ms.`;
  const timer = setTimeout(() => reject(new StoreUnavailableError(message)), ms);
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Rejects with the signal's reason as soon as it aborts. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort);
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

interface DrainSource {
  readonly destroyed: boolean;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

export function waitForDrain(stream: DrainSource, event: "drain" | "finish" = "drain"): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve();
    const done = () => {
      stream.off(event, done);
      stream.off("close", done);
      resolve();
    };
    stream.on(event, done);
    stream.on("close", done);
  });
}
