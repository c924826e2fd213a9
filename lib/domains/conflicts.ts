import { parseHostname } from "./hostname.ts";

/** A place in the `domains` mapping. */
export type MappingPath = readonly (string | number)[];

/** A host that the mapping names, by its place. */
export interface NamedHost {
  readonly path: MappingPath;
  readonly host: string;
}

/** A rule among hosts that is broken at a place, with its mend. */
export interface Conflict {
  readonly path: (string | number)[];
  readonly message: string;
}

/**
 * What does not go together in a `domains` mapping (decision 18): duplicates, redirects to themselves, loops,
 * redirects from the primary or to anything else. Reads whatever it can of a mapping that is wrong elsewhere.
 */
export function conflictsOf(mapping: unknown): readonly Conflict[] {
  const { primary, claims, redirects } = read(mapping);
  return [
    ...duplicates(primary, claims),
    ...redirects.flatMap((redirect) => checkRedirect(redirect, primary, redirects)),
  ];
}

/** Every host that a mapping names and that is a hostname at all. */
export function namedHosts(mapping: unknown): readonly NamedHost[] {
  const { claims, redirects } = read(mapping);
  const targets = redirects.map(({ index, to }) => ({ path: ["redirects", index, "to"], host: to }));
  return [...claims, ...targets].filter((named): named is NamedHost => named.host !== undefined);
}

interface Redirect {
  readonly index: number;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

interface Claim {
  readonly path: MappingPath;
  readonly host: string | undefined;
}

function duplicates(primary: string | undefined, claims: readonly Claim[]): readonly Conflict[] {
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
        : `${host} is named twice, first at ${placeText(earlier)}. Remove one of the two.`;
    return [{ path: [...path], message }];
  });
}

function checkRedirect(
  { index, from, to }: Redirect,
  primary: string | undefined,
  redirects: readonly Redirect[],
): readonly Conflict[] {
  // A redirect to the primary is right, and that one from it is wrong has been told where it begins.
  if (from === undefined || to === undefined || to === primary) return [];
  const path = ["redirects", index, "to"];
  const mend = primary === undefined ? "the primary" : `the primary, ${primary}`;
  if (from === to) return [{ path, message: `${from} redirects to itself. Write ${mend}.` }];
  const loop = loopOf(from, to, redirects);
  if (loop !== undefined) {
    return [{ path, message: `This is a loop: ${loop.join(" → ")}. Redirect every host to ${mend}.` }];
  }
  if (primary === undefined || from === primary) return [];
  return [{ path, message: `A redirect leads to the primary and nowhere else. Write ${primary}.` }];
}

/** The way from a host back to itself, if following the redirects leads there. */
function loopOf(from: string, to: string, redirects: readonly Redirect[]): readonly string[] | undefined {
  const way = [from];
  for (let next: string | undefined = to; next !== undefined; ) {
    way.push(next);
    if (next === from) return way;
    if (way.indexOf(next) < way.length - 1) return undefined;
    const here: string = next;
    next = redirects.find((redirect) => redirect.from === here)?.to;
  }
  return undefined;
}

function read(mapping: unknown) {
  const { primary, aliases, redirects } = record(mapping);
  const read: readonly Redirect[] = list(redirects).map((redirect, index) => {
    const { from, to } = record(redirect);
    return { index, from: host(from), to: host(to) };
  });
  const claims: readonly Claim[] = [
    { path: ["primary"], host: host(primary) },
    ...list(aliases).map((alias, index) => ({ path: ["aliases", index], host: host(alias) })),
    ...read.map(({ index, from }) => ({ path: ["redirects", index, "from"], host: from })),
  ];
  return { primary: host(primary), claims, redirects: read };
}

function record(
  value: unknown,
): Readonly<Record<"primary" | "aliases" | "redirects" | "from" | "to", unknown>> {
  return Object(value);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function host(value: unknown): string | undefined {
  const parsed = typeof value === "string" ? parseHostname(value) : { problem: "" };
  return "hostname" in parsed ? parsed.hostname : undefined;
}

function placeText([field, index, key]: MappingPath): string {
  return `domains.${field}${index === undefined ? "" : `[${index}]`}${key === undefined ? "" : `.${key}`}`;
}
