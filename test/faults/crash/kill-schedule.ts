import type { SeededRandom } from "../run.ts";
import type { TestProcess } from "./test-process.ts";

/** Kills processes at random moments: each a little after a chosen number of acknowledgements. */
export interface KillSchedule {
  /** Schedules a process. */
  add(target: TestProcess): void;
  /** Counts an acknowledgement of any process. */
  acknowledged(): void;
  /** Kills the processes that are still scheduled, each after a delay. */
  killRemaining(): void;
}

/** Chooses when to kill, after 1 to `most` acknowledgements. */
export function createKillSchedule(random: SeededRandom, max: number): KillSchedule {
  const scheduled: { readonly after: number; readonly delay: number; readonly kill: () => void }[] = [];
  let acknowledgements = 0;
  return {
    add({ kill }) {
      scheduled.push({ after: random.int(1, max), delay: random.int(0, 5), kill });
    },
    acknowledged() {
      acknowledgements++;
      for (const { after, delay, kill } of scheduled) if (after === acknowledgements) setTimeout(kill, delay);
    },
    killRemaining() {
      for (const { after, delay, kill } of scheduled)
        if (after > acknowledgements) setTimeout(kill, delay * 10);
    },
  };
}
