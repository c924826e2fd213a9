import type { Clock, Instant } from "../../clock.ts";
import { domainAt, type TrackedDomain } from "../../domains/lifecycle.ts";
import type { HostReport, HostToVerify } from "../../domains/verification/verify-hosts.ts";
import type { CertificateCheck } from "../../domains/watch/certificate-check.ts";
import { observeHosts } from "../../domains/watch/observe.ts";
import { advanceWatch, startWatch, type WatchState } from "../../domains/watch/watch.ts";
import type { DomainsOptions } from "./domains-source.ts";

/** What the last verification of a host found out. */
export interface CheckedHost {
  /** The state at the present instant: time alone can change it. */
  readonly domain: TrackedDomain;
  readonly report: HostReport;
  readonly certificate?: CertificateCheck;
  readonly checkedAt: Instant;
}

/** The progress of every host, since this console first verified it. Nothing of it is stored. */
export interface HostProgress {
  of(host: string): CheckedHost | undefined;
  isChecking(host: string): boolean;
  /** Verifies a host now. With `reverify`, a host that needs attention starts anew. */
  verify(host: HostToVerify, options: { readonly reverify: boolean }): Promise<void>;
  /** Verifies a host again if it is on its way to live, and if the last time is long enough ago. Does not wait. */
  continue(host: HostToVerify): void;
  /** Forgets every host except these. */
  keep(hosts: readonly string[]): void;
}

const INTERVAL_MS = 15_000;

/** Creates the progress of hosts that nobody has verified yet: names are looked up only when asked. */
export function createProgress(
  { resolver, authority, probe, intervalMs = INTERVAL_MS }: Omit<DomainsOptions, "source">,
  clock: Clock,
  knownZones: () => readonly string[],
): HostProgress {
  let state: WatchState = new Map();
  const found = new Map<string, Omit<CheckedHost, "domain">>();
  const running = new Map<string, Promise<void>>();

  async function observe(host: HostToVerify): Promise<void> {
    const observations = await observeHosts([host], { resolver, authority, probe, knownZones: knownZones() });
    const step = advanceWatch(state, observations, clock());
    state = new Map([...state, ...step.state]);
    for (const observation of observations) found.set(host.host, { ...observation, checkedAt: clock() });
  }

  /** One verification of a host at a time. */
  function start(host: HostToVerify): Promise<void> {
    const started = running.get(host.host) ?? observe(host).finally(() => running.delete(host.host));
    running.set(host.host, started);
    return started;
  }

  const progress: HostProgress = {
    of(host) {
      const [domain, last] = [state.get(host), found.get(host)];
      return domain && last && { ...last, domain: domainAt(domain, clock()) };
    },
    isChecking: (host) => running.has(host),
    async verify(host, { reverify }) {
      await running.get(host.host);
      state = new Map([...state, ...startWatch([host.host], state, { at: clock(), reverify })]);
      await start(host);
    },
    continue(host) {
      const last = progress.of(host.host);
      if (last === undefined || last.domain.state === "live" || last.domain.state === "needs_attention")
        return;
      // A verification never throws: what goes wrong is part of its result.
      if (clock() - last.checkedAt >= intervalMs) void start(host);
    },
    keep(hosts) {
      const names = new Set(hosts);
      state = new Map([...state].filter(([host]) => names.has(host)));
      for (const host of found.keys()) if (!names.has(host)) found.delete(host);
    },
  };
  return progress;
}
