import { InvalidInputError, type Issue } from "../errors.ts";
import { formatPath, toIssues } from "../issues.ts";
import { PLANS, type Plan } from "../plans/plan-limits.ts";
import { findNamedHosts } from "./conflicts.ts";
import { parseCustomHost } from "./custom-host.ts";
import type { DomainMapping, DomainsInput } from "./mapping.ts";
import { normalizeName } from "./normalize-name.ts";
import { domainsFileSchema, keysAt } from "./schema.ts";

/** A validated mapping, or everything that is wrong with the input. */
export type ParsedDomains =
  | { readonly ok: true; readonly domains: DomainMapping }
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] };

/** What the validation needs to know about the project. */
export interface DomainContext {
  /**
   * The plan of the project: any custom host needs `pro` or above.
   * @default "free"
   */
  readonly plan?: Plan;
  /** The platform's own host, if known: it cannot be a custom host. */
  readonly platformHost?: string;
}

/**
 * Validates a `domains` mapping in code. Throws an `InvalidInputError` with every problem and its path.
 *
 * ```ts
 * const domains = defineDomains(
 *   { primary: "orders.example.com", redirects: [{ from: "www.orders.example.com", to: "orders.example.com" }] },
 *   { plan: "pro" },
 * );
 * ```
 */
export function defineDomains(input: DomainsInput, context: DomainContext = {}): DomainMapping {
  const parsed = parseDomains(input, context);
  if (!parsed.ok) throw new InvalidInputError(parsed.issues);
  return parsed.domains;
}

/** Validates a `domains` mapping and reports every problem. The paths start with `domains`. */
export function parseDomains(value: unknown, context: DomainContext = {}): ParsedDomains {
  return parseDomainsFile({ domains: value }, context);
}

/** Validates the content of a domains file, which has the mapping under `domains`, and reports every problem. */
export function parseDomainsFile(value: unknown, context: DomainContext = {}): ParsedDomains {
  const parsed = domainsFileSchema.safeParse(value);
  const mapping = (value as { domains?: unknown } | null | undefined)?.domains;
  const hasHosts = !parsed.success || parsed.data.domains.primary !== undefined;
  const issues = [
    ...(hasHosts ? findPlanIssues(context) : []),
    ...findPlatformIssues(mapping, context),
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, keysAt))),
  ];
  if (!parsed.success || issues.length > 0) return { ok: false, code: "invalid_domains", issues };
  // This is the only place where a mapping becomes a validated one.
  return { ok: true, domains: parsed.data.domains as object as DomainMapping };
}

function findPlanIssues({ plan = "free" }: DomainContext): readonly Issue[] {
  if (PLANS.indexOf(plan) >= PLANS.indexOf("pro")) return [];
  const message = `Custom domains need the plan 'pro' or above, but the plan is '${plan}'. Change the plan, or remove the domains.`;
  return [{ path: "domains", message }];
}

function findPlatformIssues(mapping: unknown, { platformHost }: DomainContext): readonly Issue[] {
  if (platformHost === undefined) return [];
  const message = `${normalizeName(platformHost)} is the platform's own host, which always serves. Write a host of your own.`;
  return (
    findNamedHosts(mapping)
      .filter(({ host }) => host === normalizeName(platformHost))
      // The schema reports a name of the cloud platform.
      .filter(({ host }) => parseCustomHost(host).ok)
      .map(({ path }) => ({ path: formatPath(["domains", ...path]), message }))
  );
}
