import { z } from "zod";
import type { Issue } from "../errors.ts";
import { formatPath, toIssues } from "../issues.ts";
import { PLANS, type Plan } from "../plans/plan-limits.ts";
import { findConflicts, findNamedHosts } from "./conflicts.ts";
import { parseCustomHost } from "./custom-host.ts";
import { normalizeName } from "./hostname.ts";

/**
 * The custom hosts of a project, validated: every name in lower case, punycode, without the trailing dot. See
 * lib/README.md#domain-mapping.
 */
export interface DomainMapping {
  /** The host that the project is published under. */
  readonly primary: string;
  /** Hosts that serve the same as the primary. */
  readonly aliases: readonly string[];
  readonly redirects: readonly DomainRedirect[];
}

/** A host that redirects to the primary. */
export interface DomainRedirect {
  readonly from: string;
  /** The primary. */
  readonly to: string;
  readonly status: 301;
}

/** The role of a host in the mapping. */
export type HostRole = "primary" | "alias" | "redirect";

/** A host with its role. */
export interface ConfiguredHost {
  readonly host: string;
  readonly role: HostRole;
}

/** A valid mapping, or everything that is wrong with the input. */
export type ParsedDomains =
  | { readonly ok: true; readonly domains: DomainMapping }
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] };

/** What the validation needs to know about the project. */
export interface DomainContext {
  /** The plan of the project: domains need Pro or above. */
  readonly plan: Plan;
  /** The platform's own host, if known: it cannot be a custom host. */
  readonly platformHost?: string;
}

/** Returns every host of a mapping with its role, the primary first. */
export function hostsOf({ primary, aliases, redirects }: DomainMapping): readonly ConfiguredHost[] {
  return [
    { host: primary, role: "primary" },
    ...aliases.map((host) => ({ host, role: "alias" }) as const),
    ...redirects.map(({ from }) => ({ host: from, role: "redirect" }) as const),
  ];
}

const hostname = z
  .string({ error: "Write a hostname such as orders.example.com." })
  .transform((text, context) => {
    const parsed = parseCustomHost(text);
    if (parsed.ok) return parsed.hostname;
    context.issues.push({ code: "custom", message: parsed.message, input: text });
    return z.NEVER;
  });

const redirectSchema = z.strictObject(
  {
    from: hostname,
    to: hostname,
    status: z.literal(301, { error: "Write 301, or omit it: redirects are permanent." }).default(301),
  },
  { error: "Write a mapping with 'from' and 'to'." },
);

/** The schema of the `domains` mapping. It holds every rule except those that depend on the project. */
export const domainsSchema = z
  .strictObject(
    {
      primary: hostname,
      aliases: z.array(hostname, { error: "Write a list of hostnames, or omit it." }).default([]),
      redirects: z.array(redirectSchema, { error: "Write a list of redirects, or omit it." }).default([]),
    },
    { error: "Write a mapping with 'primary'." },
  )
  .superRefine(
    (mapping, context) => {
      for (const conflict of findConflicts(mapping)) context.addIssue({ code: "custom", ...conflict });
    },
    // Conflicts are reported together with invalid fields, so that all problems can be fixed at once.
    { when: () => true },
  );

/** The schema of a domains file: the mapping under the key `domains`, and nothing else. */
export const domainsFileSchema = z.strictObject(
  { domains: domainsSchema },
  { error: "Write the mapping under 'domains'." },
);

/** Validates a `domains` mapping and reports every problem. The paths start with `domains`. */
export function parseDomains(value: unknown, context: DomainContext): ParsedDomains {
  return parseDomainsFile({ domains: value }, context);
}

/** Validates the content of a domains file, which has the mapping under `domains`, and reports every problem. */
export function parseDomainsFile(value: unknown, context: DomainContext): ParsedDomains {
  const parsed = domainsFileSchema.safeParse(value);
  const issues = [
    ...findContextIssues((value as { domains?: unknown } | null | undefined)?.domains, context),
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, keysAt))),
  ];
  return parsed.success && issues.length === 0
    ? { ok: true, domains: parsed.data.domains }
    : { ok: false, code: "invalid_domains", issues };
}

function findContextIssues(mapping: unknown, { plan, platformHost }: DomainContext): readonly Issue[] {
  const issues: Issue[] = [];
  if (PLANS.indexOf(plan) < PLANS.indexOf("pro")) {
    const message = `Custom domains need the plan 'pro' or above, but the plan is '${plan}'. Change the plan, or remove the domains.`;
    issues.push({ path: "domains", message });
  }
  for (const { path, host } of findNamedHosts(mapping)) {
    if (platformHost === undefined || host !== normalizeName(platformHost)) continue;
    // A name of the cloud platform has been reported by the schema.
    if (!parseCustomHost(host).ok) continue;
    const message = `${host} is the platform's own host, which always serves. Write a host of your own.`;
    issues.push({ path: formatPath(["domains", ...path]), message });
  }
  return issues;
}

function keysAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(domainsFileSchema.shape);
  return Object.keys(path.length === 1 ? domainsSchema.shape : redirectSchema.shape);
}
