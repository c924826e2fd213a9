import type { Clock } from "../clock.ts";
import type { HostScreen } from "../domains/watch/screen.ts";
import {
  advanceWatch,
  type HostObservation,
  type WatchState,
  type WatchStep,
} from "../domains/watch/watch.ts";

/** Everything that a watch does besides deciding. */
export interface WatchEffects {
  readonly clock: Clock;
  observe(): Promise<readonly HostObservation[]>;
  /** Keeps the state for the next run. */
  save(state: WatchState): void;
  show(step: WatchStep): Promise<void>;
  /** Waits until the next observation is due. */
  sleep(): Promise<unknown>;
  /** Resolves when the watch has to stop, also during an observation. */
  readonly stopped: Promise<"stopped">;
}

/** How a watch ended. */
export type WatchEnd = "live" | "needs_attention" | "stopped";

/** Observes the hosts of a state until each is live or needs attention, or until it has to stop. */
export async function runWatch(start: WatchState, effects: WatchEffects): Promise<WatchEnd> {
  let state = start;
  let shown: readonly HostScreen[] = [];
  for (;;) {
    const observed = await Promise.race([effects.observe(), effects.stopped]);
    if (observed === "stopped") return observed;
    const step = advanceWatch(state, observed, effects.clock(), shown);
    state = step.state;
    shown = step.hosts;
    effects.save(state);
    await effects.show(step);
    if (step.settled) {
      return step.hosts.every(({ domain }) => domain.state === "live") ? "live" : "needs_attention";
    }
    if ((await Promise.race([effects.sleep(), effects.stopped])) === "stopped") return "stopped";
  }
}
