/** Returns a function that runs the tasks of each key one after another, in the order of their arrival. */
export function inSequence(): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, task) => {
    const running = (last.get(key) ?? Promise.resolve()).then(task, task);
    last.set(key, running);
    try {
      return await running;
    } finally {
      if (last.get(key) === running) last.delete(key);
    }
  };
}
