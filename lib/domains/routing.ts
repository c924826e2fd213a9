import type { DomainConfig } from "./mapping.ts";

/** What to do with a request to a host (decision 22). */
export type HostRoute =
  | { readonly action: "serve" }
  | { readonly action: "redirect"; readonly status: 301; readonly location: string }
  | { readonly action: "misdirected" };

/** What every host is answered with, made once from a configuration; read on each request. */
export interface HostTable {
  /** By host in lower case: where it redirects to, or `serve`. */
  readonly byHost: ReadonlyMap<string, "serve" | `https://${string}`>;
  /** True where no domains are configured, so that every host is served. */
  readonly open: boolean;
}

/** Makes the table for a configuration, beside which the platform's own hosts serve too. */
export function hostTable(
  config: DomainConfig | undefined,
  platformHosts: readonly string[] = [],
): HostTable {
  const byHost = new Map<string, "serve" | `https://${string}`>();
  for (const { from, to } of config?.redirects ?? []) byHost.set(from, `https://${to}`);
  for (const host of platformHosts) byHost.set(bareHost(host), "serve");
  if (config !== undefined) for (const host of [config.primary, ...config.aliases]) byHost.set(host, "serve");
  // What is no host reads as the empty name, which therefore must never be one.
  byHost.delete("");
  return { byHost, open: config === undefined };
}

/**
 * Tells what a request gets by the value of its `Host` and its request target (path and query, as they came).
 * Nothing in either can steer `Location`: its host is the configured primary, followed by a path.
 */
export function routeHost(table: HostTable, host: string | null | undefined, target: string): HostRoute {
  if (table.open) return SERVE;
  const route = table.byHost.get(host ?? "") ?? table.byHost.get(bareHost(host ?? ""));
  if (route === "serve") return SERVE;
  if (route === undefined) return MISDIRECTED;
  const path = pathOf(target, host ?? "");
  return path === undefined ? MISDIRECTED : { action: "redirect", status: 301, location: route + path };
}

const SERVE: HostRoute = { action: "serve" };
const MISDIRECTED: HostRoute = { action: "misdirected" };

/** A name, or an IPv6 address in brackets; then a dot and a port, both of which make no difference. */
const HOST = /^([a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:.]+\])\.?(?::\d{0,5})?$/i;

/** A path begins with a slash; what cannot stand in a header, a line break above all, makes it none. */
const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;

function bareHost(host: string): string {
  return HOST.exec(host)?.[1]?.toLowerCase() ?? "";
}

/**
 * The path and query of a request target. The absolute form (RFC 9112, 3.2.2) names a host as well, which has
 * to be the same one, and the asterisk form names no path at all.
 */
function pathOf(target: string, host: string): string | undefined {
  if (PATH.test(target)) return target;
  if (target === "" || target === "*") return "/";
  const [whole, authority = ""] = /^https?:\/\/([^/?#]*)/i.exec(target) ?? [];
  if (whole === undefined || bareHost(authority) === "" || bareHost(authority) !== bareHost(host))
    return undefined;
  const rest = target.slice(whole.length);
  const path = rest.startsWith("/") ? rest : `/${rest}`;
  return PATH.test(path) ? path : undefined;
}
