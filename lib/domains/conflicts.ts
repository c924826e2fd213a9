import { formatPath } from "../core/errors.ts";
import { parseCustomHost } from "./hostname.ts";

/** A path in the `domains` mapping, such as `["redirects", 0, "from"]`. */
export type MappingPath = readonly (string | number)[];

/** A host in the mapping, with its path. */
export interface NamedHost {
  readonly path: MappingPath;
  readonly host: string;
}

/** Hosts that contradict each other: the path, the reason, and the fix. */
export interface Conflict {
  readonly path: (string | number)[];
  readonly message: string;
}

/**
 * Finds the hosts of a mapping that contradict each other: duplicates, redirects to themselves, loops, redirects from
 * the primary or to a host other than the primary, and aliases or redirects without a primary. Also works on a mapping
 * with other errors. See lib/README.md#domain-mapping.
 */
export function findHostConflicts(mapping: unknown): readonly Conflict[] {
  const { primary, claims, redirects } = readHosts(mapping);
  // Of several redirects from one host, the first one counts.
  const targets = new Map(redirects.toReversed().map(({ from, to }) => [from, to]));
  return [
    ...findMissingPrimary(mapping, claims),
    ...findDuplicates(primary, claims),
    ...redirects.flatMap((redirect) => checkRedirect(redirect, primary, targets)),
  ];
}

/** Finds every valid hostname in a mapping. Also works on a mapping with errors. */
export function findNamedHosts(mapping: unknown): readonly NamedHost[] {
  const { claims, redirects } = readHosts(mapping);
  const targets = redirects.map(({ index, to }) => ({ path: ["redirects", index, "to"], host: to }));
  return [...claims, ...targets].filter((named): named is NamedHost => named.host !== undefined);
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

/** Aliases and redirects need a primary. A mapping without any host is valid: its only claim is that of the primary. */
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

/** The target of each redirect. */
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

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function readHost(value: unknown): string | undefined {
  const parsed = typeof value === "string" ? parseCustomHost(value) : undefined;
  return parsed?.ok ? parsed.hostname : undefined;
}
