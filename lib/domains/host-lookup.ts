import { type Clock, systemClock } from "../core/time.ts";
import { bareHost, type HostRouter, routeTo } from "./routing.ts";

/** What a database knows about a host: it serves, or leads to another one. */
export type FoundHost = "serve" | { readonly redirectTo: string };

/** The hosts of a database. */
export interface HostLookup extends HostRouter {
  /** True for a host that the database has, such as for `GET /domains/ask`. */
  isCustomHost(host: string): Promise<boolean>;
}

const MAX_UNKNOWN_HOSTS = 10_000;
const UNKNOWN_TTL_MS = 10_000;

/**
 * Routes by what `find` returns for a host, in lower case: `undefined` if it is unknown. It is called for each request, so that
 * a removed host is not served from the next one on. Only unknown hosts are remembered, for ten seconds.
 */
export function hostLookup(
  find: (host: string) => Promise<FoundHost | undefined>,
  { platformHosts = [], clock = systemClock }: { platformHosts?: readonly string[]; clock?: Clock } = {},
): HostLookup {
  const platform = new Set(platformHosts.map(bareHost));
  /** By host: since when it counts as unknown. */
  const unknown = new Map<string, number>();
  async function lookUp(host: string): Promise<FoundHost | undefined> {
    const age = clock() - (unknown.get(host) ?? -Infinity);
    if (host === "" || (age >= 0 && age < UNKNOWN_TTL_MS)) return undefined;
    const found = await find(host);
    if (found !== undefined) return found;
    if (unknown.size >= MAX_UNKNOWN_HOSTS) unknown.clear();
    unknown.set(host, clock());
    return undefined;
  }
  return {
    isCustomHost: async (host) => (await lookUp(bareHost(host))) !== undefined,
    async route(host, target) {
      const name = bareHost(host ?? "");
      const found = name !== "" && platform.has(name) ? "serve" : await lookUp(name);
      if (found === undefined || found === "serve") return routeTo(found, name, target);
      const to = bareHost(found.redirectTo);
      if (to === "") throw new TypeError("find() returned a redirect to what is no host.");
      return routeTo(`https://${to}`, host ?? "", target);
    },
  };
}
