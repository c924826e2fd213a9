import { toIssues } from "../core/errors.ts";
import { fileError, readConfigFile } from "../files/config-file.ts";
import type { PlanTable } from "../plans/plan-limits.ts";
import { PLAN_FIELDS, plansSchema } from "./plans-schema.ts";

/** The plans of a file and the standard ones. Throws an `InvalidInputError` with every problem. */
export function readPlansFile(path: string): PlanTable {
  const read = readConfigFile(path, (content) => {
    const parsed = plansSchema.safeParse(content);
    if (parsed.success) return { ok: true, value: parsed.data };
    return { ok: false, issues: parsed.error.issues.flatMap((issue) => toIssues(issue, () => PLAN_FIELDS)) };
  });
  if (!read.ok) throw fileError(path, "plans", read);
  return read.value;
}
