/** Configuration files, YAML or JSON. */
import { readFileSync } from "node:fs";
import { parse, YAMLParseError } from "yaml";
import { InvalidInputError, type Issue, invalidInput, toIssues } from "../core/errors.ts";
import type { DomainMapping } from "../domains/mapping.ts";
import { parseDomainsFile } from "../domains/parse.ts";
import type { Plan, PlanTable } from "../plans/plan-limits.ts";
import { explainFileError } from "./errors.ts";
import { PLAN_FIELDS, plansSchema } from "./plans-schema.ts";

/** Reads and validates a domains file. Throws an `InvalidInputError` with every problem. */
export function readDomainsFile(path: string, plan: Plan): DomainMapping {
  const content = readContent(path, "domains");
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

function readContent(path: string, kind: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw invalidInput(path, `${explainFileError(error, "read")} Give the path of a ${kind} file.`);
  }
  try {
    // Warnings, such as one about an unknown tag, would be printed by Node.
    return parse(text, { logLevel: "error" });
  } catch (error) {
    throw invalidInput(path, `The file is neither YAML nor JSON: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof YAMLParseError && error.code === "MULTIPLE_DOCS")
    return "it has several documents, separated by '---'. Keep one.";
  const [reason = ""] = (error as Error).message.split("\n");
  return reason.replace(/:$/, ".");
}
