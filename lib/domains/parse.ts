import * as z from "zod";
import { formatPath, InvalidInputError, type Issue, toIssues } from "../core/errors.ts";
import { PLANS, type Plan } from "../plans/plan-limits.ts";
import { parseCustomHost } from "./hostname.ts";
import type { DomainMapping, DomainsInput } from "./mapping.ts";
import { normalizeName } from "./verification/resolver.ts";

/** A validated mapping, or everything that is wrong with the input. */
export type ParsedDomains =
  | { readonly ok: true; readonly domains: DomainMapping }
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] };

/** The project that a mapping is validated for. */
export interface DomainContext {
  /** The plan of the project: any custom host needs `pro` or above. @default "free" */
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
  const mapping = (value as { domains?: unknown } | null | undefined)?.domains;
  const parsed = domainsFileSchema.safeParse(value);
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

/** The most aliases, and the most redirects, that a mapping can have. */
const MAX_LIST_HOSTS = 500;

const explainTooLong = (list: string, count: number) =>
  `There are ${count} ${list}, but a project can have at most ${MAX_LIST_HOSTS}. Remove some of them.`;

/** True if a project with this plan can have custom domains. */
export function hasDomains(plan: Plan): boolean {
  return PLANS.indexOf(plan) >= PLANS.indexOf("pro");
}

function findPlanIssues({ plan = "free" }: DomainContext): readonly Issue[] {
  if (hasDomains(plan)) return [];
  const message = `Custom domains need the plan 'pro' or above, but the plan is '${plan}'. Change the plan, or remove the domains.`;
  return [{ path: "domains", message }];
}

function findPlatformIssues(mapping: unknown, { platformHost }: DomainContext): readonly Issue[] {
  if (platformHost === undefined) return [];
  const message = `${normalizeName(platformHost)} is the platform's own host, which always serves. Write a host of your own.`;
  const { claims, redirects } = readHosts(mapping);
  const targets = redirects.map(({ index, to }) => ({ path: ["redirects", index, "to"], host: to }));
  return [...claims, ...targets]
    .filter(({ host }) => host === normalizeName(platformHost))
    .map(({ path }) => ({ path: formatPath(["domains", ...path]), message }));
}

const hostname = z
  .string({ error: "Write a hostname such as orders.example.com." })
  .meta({
    description: "A hostname such as orders.example.com, without a scheme, a port or a path.",
    // For editors. The values that it accepts are validated below.
    pattern: "^[^\\s:/?#@*_\\\\.。．｡]+([.。．｡][^\\s:/?#@*_\\\\.。．｡]+)+[.。．｡]?$",
    patternErrorMessage: "Write a hostname such as orders.example.com, without a scheme, a port or a path.",
  })
  .transform((text, context) => {
    const parsed = parseCustomHost(text);
    if (parsed.ok) return parsed.hostname;
    context.issues.push({ code: "custom", message: parsed.message, input: text });
    return z.NEVER;
  });

const redirectSchema = z.strictObject(
  {
    from: hostname.describe("The host that redirects."),
    to: hostname.describe("The primary host."),
    status: z
      .literal(301, { error: "Write 301, or omit it: redirects are permanent." })
      .default(301)
      .describe("301: redirects are permanent."),
  },
  { error: "Write a mapping with 'from' and 'to'." },
);

/** The schema of the `domains` mapping (zod). It holds every rule except those that depend on the project. */
export const domainsSchema = z
  .strictObject(
    {
      primary: hostname
        .exactOptional()
        .describe("The host that the project is published under. Omit everything to have no custom host."),
      aliases: z
        .array(hostname, { error: "Write a list of hostnames, or omit it." })
        .max(MAX_LIST_HOSTS, { error: ({ input }) => explainTooLong("aliases", (input as unknown[]).length) })
        .default([])
        .describe("Hosts that serve the same as the primary."),
      redirects: z
        .array(redirectSchema, { error: "Write a list of redirects, or omit it." })
        .max(MAX_LIST_HOSTS, {
          error: ({ input }) => explainTooLong("redirects", (input as unknown[]).length),
        })
        .default([])
        .describe("Hosts that redirect permanently to the primary."),
    },
    { error: "Write a mapping with 'primary', or {} to have no custom host." },
  )
  .superRefine(
    (mapping, context) => {
      for (const conflict of findHostConflicts(mapping)) context.addIssue({ code: "custom", ...conflict });
    },
    // Conflicts are reported together with invalid fields, so that all problems can be fixed at once.
    { when: () => true },
  )
  // For editors.
  .meta({ dependentRequired: { aliases: ["primary"], redirects: ["primary"] } });

/** The schema of a domains file: the mapping under the key `domains`, and nothing else. */
export const domainsFileSchema = z.strictObject(
  { domains: domainsSchema },
  { error: "Write the mapping under 'domains'." },
);

/** Returns the JSON Schema (2020-12) of the `domains` mapping. It cannot express the rules of hostnames. */
export function domainsJsonSchema(): object {
  return z.toJSONSchema(domainsSchema, { io: "input" });
}

/** Returns the JSON Schema (2020-12) of a domains file, for editors. */
export function domainsFileJsonSchema(): object {
  return z.toJSONSchema(domainsFileSchema, { io: "input" });
}

export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(domainsFileSchema.shape);
  return Object.keys(path.length === 1 ? domainsSchema.shape : redirectSchema.shape);
}

/** A path in the `domains` mapping, such as `["redirects", 0, "from"]`. */
type MappingPath = readonly (string | number)[];

/** Hosts that contradict each other: the path, the reason, and the fix. */
interface Conflict {
  readonly path: (string | number)[];
  readonly message: string;
}

/**
 * Finds the hosts of a mapping that contradict each other: duplicates, redirects to themselves, loops, redirects from
 * the primary or to a host other than the primary, and aliases or redirects without a primary. Also works on a mapping
 * with other errors. See lib/domains/README.md#domain-mapping.
 */
function findHostConflicts(mapping: unknown): readonly Conflict[] {
  const { primary, claims, redirects } = readHosts(mapping);
  // Of several redirects from one host, the first one counts.
  const targets = new Map(redirects.toReversed().map(({ from, to }) => [from, to]));
  return [
    ...findMissingPrimary(mapping, claims),
    ...findDuplicates(primary, claims),
    ...redirects.flatMap((redirect) => checkRedirect(redirect, primary, targets)),
  ];
}

interface Redirect {
  readonly index: number;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** A host that the mapping assigns a role to. A host can have only one. */
interface Claim {
  readonly path: MappingPath;
  readonly host: string | undefined;
}

/** Aliases and redirects need a primary. A mapping without any host is valid. */
function findMissingPrimary(mapping: unknown, claims: readonly Claim[]): readonly Conflict[] {
  if ("primary" in asRecord(mapping) || claims.length === 1) return [];
  const message = "Write the primary, such as orders.example.com: aliases and redirects need one.";
  return [{ path: ["primary"], message }];
}

function findDuplicates(primary: string | undefined, claims: readonly Claim[]): readonly Conflict[] {
  const first = new Map<string, MappingPath>();
  return claims.flatMap(({ path, host }) => {
    if (host === undefined) return [];
    const earlier = first.get(host);
    if (earlier === undefined) {
      first.set(host, path);
      return [];
    }
    const message =
      host === primary && path[0] === "redirects"
        ? `${host} is the primary, which cannot redirect. Remove this redirect, or choose another primary.`
        : `${host} is listed twice, first at ${formatPath(["domains", ...earlier])}. Remove one of the two.`;
    return [{ path: [...path], message }];
  });
}

function checkRedirect(
  { index, from, to }: Redirect,
  primary: string | undefined,
  targets: RedirectTargets,
): readonly Conflict[] {
  if (from === undefined || to === undefined || to === primary) return [];
  const path = ["redirects", index, "to"];
  const target = primary === undefined ? "the primary" : `the primary, ${primary}`;
  if (from === to) return [{ path, message: `${from} redirects to itself. Redirect it to ${target}.` }];
  const loop = findLoop(from, to, targets);
  if (loop !== undefined) {
    return [{ path, message: `This is a loop: ${loop.join(" → ")}. Redirect every host to ${target}.` }];
  }
  // A redirect from the primary has been reported at its 'from'.
  if (primary === undefined || from === primary) return [];
  return [{ path, message: `A host can redirect only to the primary. Write ${primary}.` }];
}

type RedirectTargets = ReadonlyMap<string | undefined, string | undefined>;

/** A longer loop is reported like any redirect to a host other than the primary. */
const MAX_LOOP_HOSTS = 10;

/** The path from a host back to itself, if its redirects form a loop. */
function findLoop(from: string, to: string, targets: RedirectTargets): readonly string[] | undefined {
  const visited = [from];
  for (let next: string | undefined = to; next !== undefined && visited.length <= MAX_LOOP_HOSTS; ) {
    visited.push(next);
    if (next === from) return visited;
    next = targets.get(next);
  }
  return undefined;
}

function readHosts(mapping: unknown) {
  const { primary, aliases, redirects: list } = asRecord(mapping);
  const redirects: readonly Redirect[] = asList(list).map((redirect, index) => {
    const { from, to } = asRecord(redirect);
    return { index, from: readHost(from), to: readHost(to) };
  });
  const claims: readonly Claim[] = [
    { path: ["primary"], host: readHost(primary) },
    ...asList(aliases).map((alias, index) => ({ path: ["aliases", index], host: readHost(alias) })),
    ...redirects.map(({ index, from }) => ({ path: ["redirects", index, "from"], host: from })),
  ];
  return { primary: readHost(primary), claims, redirects };
}

function asRecord(
  value: unknown,
): Readonly<Record<"primary" | "aliases" | "redirects" | "from" | "to", unknown>> {
  return Object(value);
}

/** A list that is too long is not read: the schema rejects it. */
function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) && value.length <= MAX_LIST_HOSTS ? value : [];
}

function readHost(value: unknown): string | undefined {
  const parsed = typeof value === "string" ? parseCustomHost(value) : undefined;
  return parsed?.ok ? parsed.hostname : undefined;
}
