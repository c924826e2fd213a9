import type { Change } from "./sampler.ts";

/** A mutant that no test can notice, or only one that looks at the implementation. */
export interface Accepted extends Change {
  readonly reason: string;
}

/** `from` is the line of the source and `to` what the mutant makes of it, as `npm run test:mutants` prints them. */
export const ACCEPTED: readonly Accepted[] = [];
