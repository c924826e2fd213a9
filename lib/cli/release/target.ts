import { z } from "zod";
import { invalidInput } from "../../errors.ts";

/** A function whose traffic is shifted to a version. */
export interface ReleaseFunction {
  readonly name: string;
  readonly alias: string;
  readonly version: string;
}

/** What is released, from the output `release` of a stack. */
export interface ReleaseTarget {
  readonly functions: readonly ReleaseFunction[];
  /** The names of the alarms on the new versions. */
  readonly alarms: readonly string[];
}

const releaseSchema = z.object({
  functions: z
    .array(z.object({ name: z.string(), alias: z.string(), version: z.string().regex(/^\d+$/) }))
    .min(1),
  alarms: z.array(z.string()).min(1),
});

/** What to pass as the outputs of a stack. */
export const OUTPUTS_HINT = "Pass what 'pulumi stack output --json' prints.";

/**
 * Finds the release in the outputs of a stack. `undefined` if the stack has no canary, so that an update moves all
 * traffic itself. Throws an `InvalidInputError` if they are not the outputs of this service.
 */
export function parseReleaseTarget(outputs: unknown): ReleaseTarget | undefined {
  const { release, ordersTable } = Object(outputs) as { release?: unknown; ordersTable?: unknown };
  if (release === undefined && typeof ordersTable === "string") return undefined;
  const parsed = releaseSchema.safeParse(release);
  if (parsed.success) return parsed.data;
  const message = `These outputs have no 'release' with functions and alarms. ${OUTPUTS_HINT}`;
  throw invalidInput("--stack", message);
}
