/** Configuration files, YAML or JSON. */
import { readFileSync, statSync } from "node:fs";
import { InvalidInputError, type Issue, invalidInput, isInvalidInput, toIssues } from "../core/errors.ts";
import type { DomainMapping } from "../domains/mapping.ts";
import { parseDomainsFile } from "../domains/parse.ts";
import { parseYaml, readBounded } from "../files/bounded.ts";
import type { Plan, PlanTable } from "../plans/plan-limits.ts";
import { explainFileError } from "./errors.ts";
import { PLAN_FIELDS, plansSchema } from "./plans-schema.ts";

/**
 * Reads and validates a domains file. Throws an `InvalidInputError` with every problem. Unless it is `bounded`, the file
 * may be a pipe, which is waited for.
 */
export function readDomainsFile(path: string, plan: Plan, bounded = false): DomainMapping {
  const content = readContent(path, "domains", bounded);
  const parsed = parseDomainsFile(content, { plan });
  if (!parsed.ok) throw new InvalidInputError(parsed.issues.map((issue) => locate(issue, path, content)));
  return parsed.domains;
}

/**
 * Reads and validates a plans file: limits, or `custom`, by the name of the plan. Returns its plans and the standard
 * ones. Throws an `InvalidInputError` with every problem.
 */
export function readPlansFile(path: string): PlanTable {
  const content = readContent(path, "plans");
  const parsed = plansSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.flatMap((issue) => toIssues(issue, () => PLAN_FIELDS));
  throw new InvalidInputError(issues.map((issue) => locate(issue, path, content)));
}

/**
 * Adds the file and the start of the invalid value to the place. The message is the same as in TypeScript and in a stack
 * file.
 */
function locate({ path, message }: Issue, file: string, content: unknown): Issue {
  let value: unknown = content;
  for (const name of path.match(/[^.[\]]+/g) ?? [])
    value = (value as Record<string, unknown> | undefined)?.[name];
  const isText = typeof value === "string" || typeof value === "number";
  const isShown = isText && !message.includes(`'${value}'`);
  const found = isShown ? [`'${`${value}`.replace(/^(.{100}).+/su, "$1…")}'`] : [];
  return { path: [file, ...(path === "" ? [] : [path]), ...found].join(": "), message };
}

function readContent(path: string, kind: string, bounded = false): unknown {
  let bytes: Buffer;
  try {
    bytes = bounded || statSync(path).isFile() ? readBounded(path) : readFileSync(path);
  } catch (error) {
    const reason = isInvalidInput(error) ? error.message : explainFileError(error, "read");
    throw invalidInput(path, `${reason} Give the path of a ${kind} file.`);
  }
  const parsed = parseYaml(`${bytes}`);
  if (parsed.ok) return parsed.content;
  const [problem] = parsed.problems;
  const place = problem?.line === undefined ? "" : ` (line ${problem.line}, column ${problem.column})`;
  throw invalidInput(path, `The file is neither YAML nor JSON${place}: ${problem?.message}`);
}
