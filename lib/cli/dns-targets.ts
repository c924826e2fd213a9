import { parseHostname } from "../domains/hostname.ts";
import type { ConfiguredHost } from "../domains/mapping.ts";
import { InvalidInputError, type Issue } from "../errors.ts";

/** A host with the target of its record. */
export interface TargetedHost extends ConfiguredHost {
  readonly target: string;
}

/**
 * Assigns targets to hosts from the values of `--target`: `VALUE` for every host, or `HOST=VALUE` for one. Throws an
 * `InvalidInputError` with every value that is invalid and every host that has no target.
 */
export function assignTargets(
  hosts: readonly ConfiguredHost[],
  values: readonly string[],
): readonly TargetedHost[] {
  const issues: Issue[] = [];
  const report = (message: string) => void issues.push({ path: "--target", message });
  const parse = (text: string): string | undefined => {
    const parsed = parseHostname(text);
    if (parsed.ok) return parsed.hostname;
    report(`${text === "" ? '""' : text}: ${parsed.message}`);
    return undefined;
  };
  const parseTarget = (text: string): string | undefined => {
    const target = parse(text);
    if (hosts.some(({ host }) => host === target)) {
      report(`${target} is one of the domains. Give the platform host that its record points to.`);
    }
    return target;
  };

  let common: string | undefined;
  const byHost = new Map<string, string | undefined>();
  for (const value of values) {
    const separator = value.indexOf("=");
    const target = parseTarget(value.slice(separator + 1));
    if (separator < 0) {
      if (common !== undefined) report("Give one target for all hosts, and others as HOST=VALUE.");
      common = target;
      continue;
    }
    const host = parse(value.slice(0, separator));
    if (host === undefined) continue;
    if (byHost.has(host)) report(`${host} has two targets. Remove one of them.`);
    if (!hosts.some((configured) => configured.host === host)) {
      report(`${host} is not one of the domains. Remove it, or add it to the file.`);
    }
    byHost.set(host, target);
  }
  if (issues.length === 0) {
    for (const { host } of hosts) {
      if (common === undefined && !byHost.has(host))
        report(`${host} has no target. Add --target ${host}=VALUE.`);
    }
  }
  if (issues.length > 0) throw new InvalidInputError(issues);
  return hosts.map((host) => ({ ...host, target: byHost.get(host.host) ?? common ?? "" }));
}
