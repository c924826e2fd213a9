import { cloud } from "./harness/cloud.ts";
import { type Outcome, run } from "./harness/program.ts";
import { UNKNOWN, type Value } from "./harness/wire.ts";

/** The preview and the update of both stacks, which run once for all tests of a file. */
export const runs = Object.fromEntries(
  ["staging", "production"].flatMap((stack) =>
    [true, false].map((preview) => [
      `${stack} ${preview ? "preview" : "update"}`,
      run({ stack, preview, cloud: cloud() }),
    ]),
  ),
);
export const outcomes = async () =>
  Object.entries(runs).map(async ([name, outcome]) => [name, await outcome] as const);
export const outcome = async (name: string): Promise<Outcome> => {
  const found = await runs[name];
  if (found === undefined) throw new Error(`There is no run named '${name}'.`);
  return found;
};

/** True if everything that is known of a value in the preview is the same in the update. */
export function agrees(previewed: Value, updated: Value): boolean {
  if (previewed === UNKNOWN) return true;
  if (typeof previewed !== "object" || previewed === null) return previewed === updated;
  if (typeof updated !== "object" || updated === null) return false;
  const entries = new Map<string, Value>(Object.entries(updated));
  return Object.entries(previewed).every(([key, value]) => agrees(value, entries.get(key) ?? null));
}
