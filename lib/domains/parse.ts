import * as z from "zod";
import { assertOptions, formatPath, InvalidInputError, type Issue, toIssues } from "../core/errors.ts";
import { withoutEval } from "../core/schema.ts";
import { PLANS, type Plan } from "../plans/plan-limits.ts";
import { type ParsedHostname, parseCustomHost } from "./hostname.ts";
import type { DomainMapping, DomainsInput } from "./mapping.ts";

/** A validated mapping, or everything that is wrong with the input. */
export type ParsedDomains =
  | { readonly ok: true; readonly domains: DomainMapping }
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] };

/** The project that a mapping is validated for. */
export interface DomainContext {
  /** The plan of the project: any custom host needs `pro` or above. @default "free" */
  readonly plan?: Plan;
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
  assertOptions(context, ["plan"]);
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
  const hasHosts = !parsed.success || parsed.data.domains.primary !== undefined;
  const issues = [
    ...(hasHosts ? findPlanIssues(context) : []),
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, keysAt))),
  ];
  if (!parsed.success || issues.length > 0) return { ok: false, code: "invalid_domains", issues };
  // Only here, a mapping becomes a validated one.
  return { ok: true, domains: parsed.data.domains as object as DomainMapping };
}

const MAX_LIST_HOSTS = 500;
const MAPPING = "Write a mapping with 'primary', or {} to have no custom host.";

function findPlanIssues({ plan = "free" }: DomainContext): readonly Issue[] {
  if (PLANS.indexOf(plan) >= PLANS.indexOf("pro")) return [];
  const message = `Custom domains need the plan 'pro' or above, but the plan is '${plan}'. Change the plan, or remove the domains.`;
  return [{ path: "domains", message }];
}

const hostname = z
  .string({ error: "Write a hostname such as orders.example.com." })
  .meta({
    description: "A hostname such as orders.example.com, without a scheme, a port or a path.",
    // For editors. The values that it accepts are validated below.
    pattern: "^[^\\s:/?#@*_\\\\.。．｡]+([.。．｡][^\\s:/?#@*_\\\\.。．｡]+)+[.。．｡]?$",
    patternErrorMessage: "Write a hostname such as orders.example.com, without a scheme, a port or a path.",
  })
  .transform(toHostname(parseCustomHost));

/** Transforms a string of a schema to a hostname in normal form. */
export function toHostname(parse: (text: string) => ParsedHostname) {
  return (text: string, context: z.RefinementCtx): string => {
    const parsed = parse(text);
    if (parsed.ok) return parsed.hostname;
    context.issues.push({ code: "custom", message: parsed.message, input: text });
    return z.NEVER;
  };
}

const redirectSchema = withoutEval(() =>
  z.strictObject(
    {
      from: hostname.describe("The host that redirects."),
      to: hostname.describe("The primary host."),
      status: z
        .literal(301, { error: "Write 301, or omit it: redirects are permanent." })
        .default(301)
        .describe("301: redirects are permanent."),
    },
    { error: "Write a mapping with 'from' and 'to'." },
  ),
);

/** The schema of the `domains` mapping (zod). It holds every rule except those that depend on the project. */
export const domainsSchema = withoutEval(() =>
  z
    .strictObject(
      {
        primary: hostname
          .exactOptional()
          .describe("The host that the project is published under. Omit everything to have no custom host."),
        aliases: z
          .array(hostname, { error: "Write a list of hostnames, or omit it." })
          .max(MAX_LIST_HOSTS, `There can be at most ${MAX_LIST_HOSTS} aliases. Remove some of them.`)
          .default([])
          .describe("Hosts that serve the same as the primary."),
        redirects: z
          .array(redirectSchema, { error: "Write a list of redirects, or omit it." })
          .max(MAX_LIST_HOSTS, `There can be at most ${MAX_LIST_HOSTS} redirects. Remove some of them.`)
          .default([])
          .describe("Hosts that redirect permanently to the primary."),
      },
      { error: ({ input }) => (input === undefined ? `It is missing. ${MAPPING}` : MAPPING) },
    )
    .superRefine((mapping, context) => {
      for (const conflict of findHostConflicts(mapping)) context.addIssue({ code: "custom", ...conflict });
    })
    // For editors.
    .meta({ dependentRequired: { aliases: ["primary"], redirects: ["primary"] } }),
);

/** The schema of a domains file: the mapping under the key `domains`, and nothing else. */
const domainsFileSchema = withoutEval(() =>
  z.strictObject({ domains: domainsSchema }, { error: "Write the mapping under 'domains'." }),
);

/** The JSON Schema (2020-12) of the `domains` mapping. It cannot express the rules of hostnames. */
export function domainsJsonSchema(): object {
  return z.toJSONSchema(domainsSchema, { io: "input" });
}

/** The JSON Schema (2020-12) of a domains file, for editors. */
export function domainsFileJsonSchema(): object {
  return z.toJSONSchema(domainsFileSchema, { io: "input" });
}

function keysAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(domainsFileSchema.shape);
  return Object.keys(path.length === 1 ? domainsSchema.shape : redirectSchema.shape);
}

/** The hosts of a mapping with valid fields that contradict each other: see lib/domains/README.md#domain-mapping. */
function* findHostConflicts({ primary, aliases, redirects }: Pick<DomainMapping, keyof DomainMapping>) {
  if (primary === undefined) {
    const message = "Write the primary, such as orders.example.com: aliases and redirects need one.";
    if (aliases.length + redirects.length > 0) yield { path: ["primary"], message };
    return;
  }
  const hosts = [
    ...aliases.map((host, index) => ({ host, path: ["aliases", index] })),
    ...redirects.map(({ from }, index) => ({ host: from, path: ["redirects", index, "from"] })),
  ];
  const first = new Map([[primary, "domains.primary"]]);
  for (const { host, path } of hosts) {
    const earlier = first.get(host);
    if (earlier === undefined) {
      first.set(host, formatPath(["domains", ...path]));
      continue;
    }
    const message =
      host === primary && path[0] === "redirects"
        ? `${host} is the primary, which cannot redirect. Remove this redirect, or choose another primary.`
        : `${host} is listed twice, first at ${earlier}. Remove one of the two.`;
    yield { path, message };
  }
  for (const [index, { from, to }] of redirects.entries()) {
    // A redirect from the primary has been reported at its 'from'.
    if (to === primary || from === primary) continue;
    const message =
      from === to
        ? `${from} redirects to itself. Redirect it to the primary, ${primary}.`
        : `A host can redirect only to the primary. Write ${primary}.`;
    yield { path: ["redirects", index, "to"], message };
  }
}
