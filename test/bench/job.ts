import type { JobReport } from "./figures.ts";
import type { LoadGenerator } from "./load/load.ts";

/** The means of a job. */
export interface Bench {
  /** The job's own folder, on the measured disk. */
  readonly folder: string;
  readonly load: LoadGenerator;
  readonly rounds: number;
  /** How long a round sends load. */
  readonly seconds: number;
  /** Smaller data and fewer rounds: checks that everything works, with rough figures. */
  readonly quick: boolean;
  /** Reports progress. */
  log(line: string): void;
}

/** One thing to measure. */
export interface Job {
  readonly id: string;
  run(bench: Bench): Promise<JobReport>;
}
