import { z } from "zod";
import type { Issue } from "../errors.ts";
import { PLANS, type Plan } from "../plans/plan-limits.ts";
import { conflictsOf, namedHosts } from "./conflicts.ts";
import { normalizeName, parseHostname } from "./hostname.ts";

/** The hosts of a project (decision 18), every name in its one form: lower case, punycode, no trailing dot. */
export interface DomainConfig {
  /** The host that the project is published under. */
  readonly primary: string;
  /** Hosts that serve the same as the primary. */
  readonly aliases: readonly string[];
  readonly redirects: readonly DomainRedirect[];
}

/** A host that sends its visitors to the primary. */
export interface DomainRedirect {
  readonly from: string;
  /** The primary. */
  readonly to: string;
  readonly status: 301;
}

/** What a host is configured to be. */
export type HostRole = "primary" | "alias" | "redirect";

/** A host with its role. */
export interface ConfiguredHost {
  readonly host: string;
  readonly role: HostRole;
}

/** A configuration that holds every rule, or everything that is wrong with it. */
export type ParsedDomainConfig = { readonly config: DomainConfig } | { readonly issues: readonly Issue[] };

/** What the rules need to know of the project. */
export interface DomainContext {
  /** The plan of the project: domains need Pro or above (decision 19). */
  readonly plan: Plan;
  /** The platform's own host, where it is known: it cannot be configured as a custom one. */
  readonly platformHost?: string;
}

/** Every host of a configuration, the primary first. */
export function hostsOf({ primary, aliases, redirects }: DomainConfig): readonly ConfiguredHost[] {
  return [
    { host: primary, role: "primary" },
    ...aliases.map((host) => ({ host, role: "alias" }) as const),
    ...redirects.map(({ from }) => ({ host: from, role: "redirect" }) as const),
  ];
}

const hostname = z
  .string({ error: "Write a hostname such as orders.example.com." })
  .transform((text, context) => {
    const parsed = parseHostname(text);
    if ("hostname" in parsed) return parsed.hostname;
    context.issues.push({ code: "custom", message: parsed.problem, input: text });
    return z.NEVER;
  });

const domainRedirect = z.strictObject(
  {
    from: hostname,
    to: hostname,
    status: z.literal(301, { error: "Write 301, or leave it out: redirects are permanent." }).default(301),
  },
  { error: "Write a mapping with 'from' and 'to'." },
);

/** The `domains` mapping as a schema, with every rule that needs no knowledge of the project. */
export const domainMapping = z
  .strictObject(
    {
      primary: hostname,
      aliases: z.array(hostname, { error: "Write a list of hostnames, or leave it out." }).default([]),
      redirects: z
        .array(domainRedirect, { error: "Write a list of redirects, or leave it out." })
        .default([]),
    },
    { error: "Write a mapping with 'primary'." },
  )
  .superRefine(
    (mapping, context) => {
      for (const conflict of conflictsOf(mapping)) context.addIssue({ code: "custom", ...conflict });
    },
    // The rules among hosts are told together with the flaws of single ones, so that nobody mends in rounds.
    { when: () => true },
  );

/** A domains file as a schema: the mapping under `domains`, and nothing beside it. */
export const domainsFile = z.strictObject(
  { domains: domainMapping },
  { error: "Write the mapping under 'domains'." },
);

/** Checks a `domains` mapping from outside and tells everything that is wrong with it. */
export function parseDomainConfig(value: unknown, context: DomainContext): ParsedDomainConfig {
  const parsed = domainMapping.safeParse(value);
  const issues = [
    ...contextIssues(value, context),
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, ["domains"]))),
  ];
  return parsed.success && issues.length === 0 ? { config: parsed.data } : { issues };
}

/** Checks the content of a domains file, which has the mapping under `domains`. */
export function parseDomainsFile(value: unknown, context: DomainContext): ParsedDomainConfig {
  const parsed = domainsFile.safeParse(value);
  const issues = [
    ...contextIssues((value as { domains?: unknown } | null | undefined)?.domains, context),
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, []))),
  ];
  return parsed.success && issues.length === 0 ? { config: parsed.data.domains } : { issues };
}

function contextIssues(mapping: unknown, { plan, platformHost }: DomainContext): readonly Issue[] {
  const issues: Issue[] = [];
  if (PLANS.indexOf(plan) < PLANS.indexOf("pro")) {
    const message = `Custom domains need the plan 'pro' or above, and this is '${plan}'. Change the plan, or remove the domains.`;
    issues.push({ path: "domains", message });
  }
  for (const { path, host } of namedHosts(mapping)) {
    if (platformHost === undefined || host !== normalizeName(platformHost)) continue;
    const message = `${host} is the platform's own host, which serves anyway. Write a host of your own.`;
    issues.push({ path: pathText(["domains", ...path]), message });
  }
  return issues;
}

function toIssues(issue: z.core.$ZodIssue, base: readonly PropertyKey[]): readonly Issue[] {
  const path = [...base, ...issue.path];
  if (issue.code !== "unrecognized_keys") return [{ path: pathText(path), message: issue.message }];
  const known = Object.keys(knownFieldsAt(path));
  return issue.keys.map((key) => ({
    path: pathText([...path, key]),
    message: `Unknown field. Known: ${known.join(", ")}.`,
  }));
}

function knownFieldsAt(path: readonly PropertyKey[]): object {
  if (path.length === 0) return domainsFile.shape;
  return path.length === 1 ? domainMapping.shape : domainRedirect.shape;
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}
