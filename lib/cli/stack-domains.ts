import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { parseHostname } from "../domains/hostname.ts";
import type { HostToVerify } from "../domains/verification/verify-hosts.ts";
import { InvalidInputError } from "../errors.ts";
import { toIssues } from "../issues.ts";
import type { Terminal } from "./terminal.ts";

/** The hosts of a deployed stack. */
export interface StackDomains {
  readonly hosts: readonly HostToVerify[];
  /** The zones that the stack's records are in. */
  readonly knownZones: readonly string[];
}

const hostOutput = z.object(
  {
    role: z.enum(["primary", "alias", "redirect"]),
    record: z.object({ name: z.string(), value: z.string().optional() }),
  },
  { error: "This is not the output of a host: it has no 'role' and 'record'." },
);

const domainsOutput = z.record(z.string(), hostOutput, { error: "This is not a mapping of hosts." });

/**
 * Reads the outputs of a stack as JSON: all of them, or only `domains` (`domainStatus` of a program of your own). The path `-` stands for standard input. Throws
 * an `InvalidInputError` if they are not those of this service.
 */
export async function readStackDomains(
  path: string,
  { input }: Pick<Terminal, "input">,
): Promise<StackDomains> {
  const content = parseJson(path, await (path === "-" ? text(input) : readContent(path)));
  const outputs = content as { domains?: unknown; domainStatus?: unknown } | null;
  const parsed = domainsOutput.safeParse(outputs?.domains ?? outputs?.domainStatus ?? content);
  if (!parsed.success) {
    const issues = parsed.error.issues.flatMap((issue) => toIssues(issue, () => []));
    throw new InvalidInputError([{ path: "--stack", message: HINT }, ...issues]);
  }
  const byHost = Object.entries(parsed.data).map(([name, output]) => {
    const host = parseHostname(name);
    if (!host.ok) throw new InvalidInputError([{ path: "--stack", message: `${name}: ${host.message}` }]);
    return { ...output, host: host.hostname };
  });
  return {
    hosts: byHost.map(({ host, role, record: { value } }) => ({
      host,
      role,
      ...(value === undefined ? {} : { target: value }),
    })),
    knownZones: byHost.map(({ host, record: { name } }) => zoneOf(host, name)),
  };
}

const HINT = "Pass what 'pulumi stack output domains --json' prints.";

async function readContent(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? `${error.code}` : "unknown";
    throw new InvalidInputError([{ path, message: `The file cannot be read (${code}). ${HINT}` }]);
  }
}

function parseJson(path: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new InvalidInputError([{ path, message: `This is not JSON. ${HINT}` }]);
  }
}

/** The record's name is relative to the zone, which is therefore the rest of the host. */
function zoneOf(host: string, name: string): string {
  return name !== "@" && host.startsWith(`${name}.`) ? host.slice(name.length + 1) : host;
}
