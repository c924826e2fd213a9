import { readFileSync, statSync } from "node:fs";
import { parse, YAMLParseError } from "yaml";
import type { DomainMapping } from "../domains/mapping.ts";
import { parseDomainsFile } from "../domains/parse.ts";
import { type HostTable, hostTable } from "../domains/routing.ts";
import { InvalidInputError, type Issue, invalidInput } from "../errors.ts";
import type { Plan } from "../plans/plan-limits.ts";
import { explainFileError, systemErrorCode } from "./system-error.ts";

/** Reads and validates a domains file, YAML or JSON. Throws an `InvalidInputError` with every problem. */
export function readDomainsFile(path: string, plan: Plan): DomainMapping {
  const content = readContent(path);
  const parsed = parseDomainsFile(content, { plan });
  if (!parsed.ok) throw new InvalidInputError(parsed.issues.map((issue) => locate(issue, path, content)));
  return parsed.domains;
}

/** Adds the file and the invalid value to the place. The message is the same as in TypeScript and in a stack file. */
function locate({ path, message }: Issue, file: string, content: unknown): Issue {
  let value: unknown = content;
  for (const name of path.match(/[^.[\]]+/g) ?? [])
    value = (value as Record<string, unknown> | undefined)?.[name];
  const isText = typeof value === "string" || typeof value === "number";
  const found = isText && !message.includes(`'${value}'`) ? [`'${value}'`] : [];
  return { path: [file, ...(path === "" ? [] : [path]), ...found].join(": "), message };
}

function readContent(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw invalidInput(path, `${explainFileError(error, "read")} Give the path of a domains file.`);
  }
  try {
    // Warnings, such as one about an unknown tag, would be printed by Node.
    return parse(text, { logLevel: "error" });
  } catch (error) {
    throw invalidInput(path, `The file is neither YAML nor JSON: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof YAMLParseError && error.code === "MULTIPLE_DOCS") {
    return "it has several documents, separated by '---'. Keep one.";
  }
  const [reason = ""] = (error as Error).message.split("\n");
  return reason.replace(/:$/, ".");
}

/**
 * Returns a function that returns the host table of a domains file as it is now: a change takes effect at the next
 * request. If the changed file is invalid or missing, that is reported once and the previous configuration stays in
 * effect.
 */
export function watchDomainsFile(
  path: string,
  plan: Plan,
  platformHosts: readonly string[],
  report: (line: string) => void,
): () => HostTable {
  let lastStamp = stampOf(path);
  let table = hostTable(readDomainsFile(path, plan), platformHosts);
  return () => {
    const stamp = stampOf(path);
    if (stamp === lastStamp) return table;
    lastStamp = stamp;
    try {
      table = hostTable(readDomainsFile(path, plan), platformHosts);
      report(`${path} has changed and is now in effect.`);
    } catch (error) {
      report(
        `${path} has changed and is ${stamp === "ENOENT" ? "missing" : "invalid"}; keeping the previous configuration: ${(error as Error).message}`,
      );
    }
    return table;
  };
}

/** Changes when the file does. Costs only a few microseconds. */
function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch (error) {
    return systemErrorCode(error);
  }
}
