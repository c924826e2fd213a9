import { readFileSync, type Stats, statSync } from "node:fs";
import { parse, YAMLParseError } from "yaml";
import { type DomainConfig, parseDomainsFile } from "../domains/mapping.ts";
import { type HostTable, hostTable } from "../domains/routing.ts";
import { InvalidInputError } from "../errors.ts";

/**
 * Reads a domains file, YAML or JSON. Throws `InvalidInputError` with everything that is wrong with it. A file says
 * nothing of a plan, so the gate of decision 19 is left to those who know the project's.
 */
export function readDomainsFile(path: string): DomainConfig {
  const parsed = parseDomainsFile(parsedText(path), { plan: "pro" });
  if ("issues" in parsed) throw new InvalidInputError(parsed.issues);
  return parsed.config;
}

function parsedText(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? `${error.code}` : "unknown";
    throw wrong(path, `The file cannot be read (${code}). Give the path of a domains file.`);
  }
  try {
    return parse(text);
  } catch (error) {
    const [reason = ""] = error instanceof YAMLParseError ? error.message.split("\n") : [];
    throw wrong(path, `This is neither YAML nor JSON: ${reason.replace(/:$/, ".")}`);
  }
}

function wrong(path: string, message: string): InvalidInputError {
  return new InvalidInputError([{ path, message }]);
}

/**
 * The hosts of a file as it is now: a change holds from the next request (decision 22). A change that breaks the rules
 * is told once, and what was right before stays in force.
 */
export function watchedHosts(
  path: string,
  platformHosts: readonly string[],
  tell: (line: string) => void,
): () => HostTable {
  let seen = stampOf(path);
  let table = hostTable(readDomainsFile(path), platformHosts);
  return () => {
    const stamp = stampOf(path);
    if (stamp === seen) return table;
    seen = stamp;
    try {
      table = hostTable(readDomainsFile(path), platformHosts);
      tell(`${path} has changed and holds from now on.`);
    } catch (error) {
      tell(`${path} has changed and is wrong, so the old one holds: ${(error as Error).message}`);
    }
    return table;
  };
}

/** Tells one state of a file from another, for a few microseconds. */
function stampOf(path: string): string {
  const { mtimeMs, size, ino }: Partial<Stats> = statSync(path, { throwIfNoEntry: false }) ?? {};
  return `${mtimeMs} ${size} ${ino}`;
}
