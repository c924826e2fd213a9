/** Runs a task for every item, at most `concurrency` at a time, in their order. After a failure no task is started. */
export async function inParallel<T, R>(
  items: readonly T[],
  concurrency: number,
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  let failed = false;
  const work = async () => {
    for (const [index, item] of waiting) {
      if (failed) return;
      try {
        results[index] = await task(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work));
  return results;
}
