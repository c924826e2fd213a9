import { statSync } from "node:fs";
import { errorMessage, invalidInput } from "../core/errors.ts";
import { explainTopLevel } from "../domains/hostname.ts";
import { hostsOf } from "../domains/mapping.ts";
import { type HostTable, hostTable } from "../domains/routing.ts";
import type { Plan } from "../plans/plan-limits.ts";
import { readDomainsFile } from "./config-files.ts";
import { systemErrorCode } from "./errors.ts";

/**
 * Returns a function that returns the host table of a domains file as it is now. A changed file that is invalid or
 * missing is reported once, and the previous configuration stays in effect.
 */
export function watchDomainsFile(
  path: string,
  plan: Plan,
  platformHosts: readonly string[],
  report: (line: string) => void,
): () => HostTable {
  const read = (bounded: boolean) => {
    const domains = readDomainsFile(path, plan, bounded);
    const names = hostsOf(domains).map(({ host }) => host);
    const own = names.find((name) => platformHosts.includes(name));
    if (own !== undefined) {
      const message = `${own} is also in ${path}, and can be only one of both. Remove it here or there.`;
      throw invalidInput("--platform-host", message);
    }
    return { table: hostTable(domains, platformHosts), warnings: names.flatMap(explainTopLevel) };
  };
  let last = stampOf(path);
  let { table, warnings } = read(false);
  for (const warning of warnings) report(warning);
  return () => {
    const stamp = stampOf(path);
    if (stamp === last) return table;
    last = stamp;
    try {
      ({ table, warnings } = read(true));
      for (const line of [`${path} has changed and is now in effect.`, ...warnings]) report(line);
    } catch (error) {
      const state = stamp === "ENOENT" ? "missing" : "invalid";
      const problem = `${path} has changed and is ${state}; keeping the previous configuration`;
      report(`${problem}: ${errorMessage(error)}`);
    }
    return table;
  };
}

/** Changes when the file does. Costs only a few microseconds. */
function stampOf(path: string): string {
  try {
    const { mtimeNs, size, ino } = statSync(path, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch (error) {
    return systemErrorCode(error);
  }
}
