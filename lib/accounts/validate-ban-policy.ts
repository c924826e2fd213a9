import { InvalidInputError, type Issue } from "../errors.ts";
import type { BanPolicy } from "./admission.ts";

/** Checks a ban policy: one without numbers would never ban. Throws `InvalidInputError` with every issue. */
export function validateBanPolicy({ maxRejections, durationMs }: BanPolicy): void {
  const issues: Issue[] = [];
  if (!Number.isSafeInteger(maxRejections) || maxRejections < 0)
    issues.push({ path: "banPolicy.maxRejections", message: "Give a whole number of at least 0." });
  if (!Number.isSafeInteger(durationMs) || durationMs < 1)
    issues.push({ path: "banPolicy.durationMs", message: "Give whole milliseconds, at least 1." });
  if (issues.length > 0) throw new InvalidInputError(issues);
}
