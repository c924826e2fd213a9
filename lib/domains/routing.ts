import { splitTarget } from "../core/request-target.ts";
import type { DomainMapping } from "./mapping.ts";

/** The route of a request by its host. See lib/domains/README.md#serving-and-redirects. */
export type HostRoute =
  | { readonly action: "serve" }
  | { readonly action: "redirect"; readonly status: 301; readonly location: string }
  | { readonly action: "misdirected" };

/** Routes requests by host: a table, or a lookup that takes time. */
export interface HostRouter {
  /** Routes by the `Host` header and the request target (path and query, as sent). Neither changes the host in `Location`. */
  route(host: string | null | undefined, target: string): HostRoute | Promise<HostRoute>;
}

/** The routing of every host, built once from a mapping and read on each request. */
export interface HostTable extends HostRouter {
  /** The hosts of the mapping, without the platform's own. */
  readonly customHosts: ReadonlySet<string>;
  route(host: string | null | undefined, target: string): HostRoute;
}

/** Builds the table of a mapping. The platform's hosts always serve, with an empty mapping only these, without one every host. */
export function hostTable(
  domains: DomainMapping | undefined,
  platformHosts: readonly string[] = [],
): HostTable {
  // A caller without types can pass a mapping that has not been validated.
  if (domains !== undefined && !(Array.isArray(domains.redirects) && Array.isArray(domains.aliases))) {
    throw new TypeError("The mapping has not been validated: call `defineDomains`.");
  }
  /** By host in lower case: `serve`, or the origin that the host redirects to. */
  const byHost = new Map<string, "serve" | `https://${string}`>();
  const { primary, aliases, redirects } = domains ?? { aliases: [], redirects: [] };
  for (const { from, to } of redirects) byHost.set(from, `https://${to}`);
  for (const host of platformHosts) byHost.set(bareHost(host), "serve");
  const served = [primary, ...aliases].filter((host) => host !== undefined);
  for (const host of served) byHost.set(host, "serve");
  // An invalid Host header is read as the empty name, so that name must not be in the table.
  byHost.delete("");
  const customHosts = new Set([...served, ...redirects.map(({ from }) => from)]);
  return {
    customHosts,
    route(host, target) {
      if (domains === undefined) return SERVE;
      if (!host) return MISDIRECTED;
      return routeTo(byHost.get(host) ?? byHost.get(bareHost(host)), host, target);
    },
  };
}

export function routeTo(
  found: "serve" | `https://${string}` | undefined,
  host: string,
  target: string,
): HostRoute {
  if (found === "serve") return SERVE;
  const path = found && pathOf(target, host);
  return path === undefined ? MISDIRECTED : { action: "redirect", status: 301, location: found + path };
}

const SERVE: HostRoute = { action: "serve" };
export const MISDIRECTED: HostRoute = { action: "misdirected" };

/** A name, or an IPv6 address in brackets, with a trailing dot and a port to ignore. Names of containers have underscores. */
const HOST = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])\.?(?::\d{0,5})?$/i;

/** A path starts with a slash and has only characters that are safe in a header: no line break, above all. */
const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;

const MAX_HOST_CHARS = 253;

/** The name in a `Host` header, in lower case; empty if the header is invalid. */
export function bareHost(host: string): string {
  const name = HOST.exec(host)?.[1]?.toLowerCase() ?? "";
  return name.length > MAX_HOST_CHARS ? "" : name;
}

/** The host of an absolute-form target (RFC 9112, 3.2.2) must match the Host header; the asterisk form has no path. */
function pathOf(target: string, host: string): string | undefined {
  if (PATH.test(target)) return target;
  if (target === "" || target === "*") return "/";
  const { authority = "", path } = splitTarget(target);
  const isSameHost = bareHost(authority) !== "" && bareHost(authority) === bareHost(host);
  return isSameHost && PATH.test(path) ? path : undefined;
}
