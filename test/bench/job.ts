import type { JobReport } from "./figures.ts";
import type { LoadGenerator } from "./load/load.ts";

/** What a job may use. */
export interface Bench {
  /** A folder of its own on the disk that is measured. */
  readonly folder: string;
  readonly load: LoadGenerator;
  readonly rounds: number;
  /** How long load is sent in a round. */
  readonly seconds: number;
  /** Smaller data and fewer rounds: shows that everything works, and roughly what it gives. */
  readonly quick: boolean;
  /** Says on the side what is going on. */
  tell(line: string): void;
}

/** One thing to measure. */
export interface Job {
  readonly id: string;
  run(bench: Bench): Promise<JobReport>;
}
