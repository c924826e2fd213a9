import { startChild } from "../servers/child.ts";

/** The latency of small requests during other work. */
export interface ConcurrentLatency {
  /** The longest latency, in milliseconds. */
  readonly longest: number;
  readonly requests: number;
}

/** Runs `work` while another process sends small requests to the same server. */
export async function measureConcurrentLatency(
  url: string,
  key: string,
  work: () => Promise<unknown>,
): Promise<ConcurrentLatency> {
  const probe = startChild(new URL("latency-probe-process.ts", import.meta.url), [url, key]);
  await probe.nextMessage();
  await work();
  probe.send("stop");
  const latency = await probe.nextMessage<ConcurrentLatency>();
  await probe.end();
  return latency;
}
