import { setTimeout as wait } from "node:timers/promises";
import type { Clock } from "../../core/time.ts";
import { type HostObservation, observeHosts } from "../../domains/observation.ts";
import type { Deployment } from "../../domains/verification/advice.ts";
import type { CommandContext } from "../context.ts";
import type { StackDomains } from "../stack-outputs.ts";
import {
  advanceWatch,
  formatChange,
  toWatchChange,
  type WatchedHost,
  type WatchStep,
} from "../watch-step.ts";
import type { VerificationTools } from "./domains.ts";

const INTERVAL_MS = 30_000;

/** `domains watch`: follows every host until it is live or needs attention, and prints each change. */
export async function watchHosts(
  { clock, flags, terminal, waitForStop }: CommandContext,
  { hosts, knownZones }: StackDomains,
  verification: VerificationTools,
): Promise<WatchEnd> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<"stopped">();
  const stopping = new AbortController();
  void stopped.then(() => stopping.abort());
  void waitForStop().then(() => stop("stopped"));
  const end = await runWatch({
    clock,
    deployment: verification.deployment,
    async show({ changes }) {
      const at = clock();
      for (const change of changes) {
        const line = flags.json ? JSON.stringify(toWatchChange(change, at)) : formatChange(change, at);
        // Nobody reads any more, such as after `| head -1`.
        if (!(await terminal.print(`${line}\n`))) return stop("stopped");
      }
    },
    stopped,
    sleep: () => wait(INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => {}),
    observe: () => observeHosts(hosts, { ...verification, knownZones }),
  });
  if (end === "stopped") terminal.log("Stopped before every host was live.");
  return end;
}

interface WatchEffects {
  readonly clock: Clock;
  /** @default "stack" */
  readonly deployment?: Deployment;
  observe(): Promise<readonly HostObservation[]>;
  show(step: WatchStep): Promise<void>;
  sleep(): Promise<unknown>;
  /** Resolves when the watch has to stop, also during an observation. */
  readonly stopped: Promise<"stopped">;
}

export type WatchEnd = "live" | "needs_attention" | "stopped";

/** Observes hosts until each is live or needs attention, or until it has to stop. */
export async function runWatch(effects: WatchEffects): Promise<WatchEnd> {
  let hosts: readonly WatchedHost[] = [];
  for (;;) {
    const observed = await Promise.race([effects.observe(), effects.stopped]);
    if (observed === "stopped") return observed;
    const step = advanceWatch(hosts, observed, effects.clock(), effects.deployment);
    hosts = step.hosts;
    await effects.show(step);
    if (step.settled)
      return hosts.every(({ domain }) => domain.state === "live") ? "live" : "needs_attention";
    if ((await Promise.race([effects.sleep(), effects.stopped])) === "stopped") return "stopped";
  }
}
