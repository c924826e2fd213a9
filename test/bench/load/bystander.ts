import { fork } from "node:child_process";
import { once } from "node:events";

/** What somebody else met with while something was going on. */
export interface Waits {
  /** Milliseconds of the longest wait for an answer. */
  readonly longest: number;
  readonly requests: number;
}

/** Does something while somebody else, in a process of its own, sends small requests to the same server. */
export async function besidesIt(url: string, key: string, work: () => Promise<unknown>): Promise<Waits> {
  const bystander = fork(new URL("bystander-process.ts", import.meta.url), [url, key]);
  await once(bystander, "message");
  await work();
  const told = once(bystander, "message");
  bystander.send("stop");
  return (await told)[0];
}
