import { startChild } from "../servers/child.ts";

/** What somebody else met with while something was going on. */
export interface Waits {
  /** Milliseconds of the longest wait for an answer. */
  readonly longest: number;
  readonly requests: number;
}

/** Does something while somebody else, in a process of its own, sends small requests to the same server. */
export async function measureConcurrentLatency(
  url: string,
  key: string,
  work: () => Promise<unknown>,
): Promise<Waits> {
  const bystander = startChild(new URL("latency-probe-process.ts", import.meta.url), [url, key]);
  await bystander.told();
  await work();
  bystander.send("stop");
  const waits = await bystander.told<Waits>();
  await bystander.end();
  return waits;
}
