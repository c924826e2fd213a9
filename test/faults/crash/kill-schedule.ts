import type { Choices } from "../run.ts";
import type { TestProcess } from "./test-process.ts";

/** Kills processes at moments that are chosen before: when so much was acknowledged, and a little later. */
export interface KillSchedule {
  /** Has a victim killed. */
  light(victim: TestProcess): void;
  /** Something was acknowledged, by whichever of the processes. */
  acknowledged(): void;
  /** Nothing more is acknowledged: kills whoever still lives, each after a moment of its own. */
  burnOut(): void;
}

/** Chooses when to kill, after 1 to `most` acknowledgements. */
export function createFuses(random: Choices, most: number): KillSchedule {
  const lit: { readonly after: number; readonly delay: number; readonly kill: () => void }[] = [];
  let acknowledgements = 0;
  return {
    light({ kill }) {
      lit.push({ after: random.int(1, most), delay: random.int(0, 5), kill });
    },
    acknowledged() {
      acknowledgements++;
      for (const { after, delay, kill } of lit) if (after === acknowledgements) setTimeout(kill, delay);
    },
    burnOut() {
      for (const { after, delay, kill } of lit) if (after > acknowledgements) setTimeout(kill, delay * 10);
    },
  };
}
