import { mapBounded } from "../../core/concurrency.ts";
import type { Clock, Instant } from "../../core/time.ts";
import { hostsOf } from "../../domains/mapping.ts";
import type { Target } from "../../domains/records.ts";
import type { CertificateProbe } from "../../domains/status/facts.ts";
import { addHost, nextStatus, statusAt } from "../../domains/status/status.ts";
import type { SeenHost } from "../../domains/status/steps.ts";
import { type HostToVerify, type ObservedHost, observeHosts } from "../../domains/status/verify.ts";
import type { CertificateAuthority } from "../../domains/verification/caa.ts";
import type { Deployment } from "../../domains/verification/providers.ts";
import type { DnsResolver } from "../../domains/verification/resolver.ts";
import type { FileProblem } from "../../files/config-file.ts";
import { changeDomainsFile, type DomainChange, findDomains } from "../../files/domains-file.ts";
import type { Plan } from "../../plans/plan-limits.ts";

/** The file that `serve --domains` reads, and the means to verify its hosts. The console changes the file. */
export interface DomainsOptions {
  readonly path: string;
  readonly plan: Plan;
  /** The platform host that the records point to, or the addresses of this machine, if known. */
  readonly target?: Target;
  /** The zones of hosts, by host. They override the zones that DNS has. @default none */
  readonly zones?: ReadonlyMap<string, string>;
  readonly resolver: DnsResolver;
  readonly authorities: readonly CertificateAuthority[];
  readonly probe: CertificateProbe;
  /** The time between two verifications of a host on screen. @default 15000 */
  readonly intervalMs?: number;
}

/** A domains file is served on one machine. */
export const DEPLOYMENT: Deployment = "machine";

export interface KnownHosts {
  readonly ok: true;
  readonly version: string;
  readonly hosts: readonly HostToVerify[];
}

type HostsSnapshot = KnownHosts | { readonly ok: false; readonly problems: readonly FileProblem[] };

export function primaryOf({ hosts }: KnownHosts): string | undefined {
  return hosts.find(({ role }) => role === "primary")?.host;
}

export type DomainsContext = ReturnType<typeof openDomains>;

/** Opens the domains. Nothing is looked up yet. */
export function openDomains(options: DomainsOptions, clock: Clock) {
  const { path, plan, target, zones } = options;
  const progress = createProgress(options, clock);
  function read(): HostsSnapshot {
    const found = findDomains(path, plan);
    if (!found.ok) return found;
    const hosts = hostsOf(found.value).map((each) => ({ ...each, target, zone: zones?.get(each.host) }));
    // A host that is added again starts anew.
    progress.keep(hosts.map(({ host }) => host));
    return { ok: true, version: found.version, hosts };
  }
  const change = (version: string, each: DomainChange) => changeDomainsFile(path, plan, version, each);
  return { file: { name: path, read, change }, progress, clock };
}

/** A host as it was last seen, with its status at the present instant: time alone can change it. */
export interface CheckedHost extends SeenHost {
  readonly seen: ObservedHost;
  readonly observedAt: Instant;
}

/** The number of hosts that are looked up at the same time for the list, each with some twenty queries. */
const MAX_CHECKS = 8;

/** A live host is looked up again after so many intervals. */
const LIVE_INTERVALS = 20;

/** The progress of every host since this console first looked it up, for an open page. Nothing of it is stored. */
export function createProgress(
  { resolver, authorities, probe, intervalMs = 15_000 }: Omit<DomainsOptions, "path" | "plan">,
  clock: Clock,
) {
  const verification = { resolver, authorities, probe, deployment: DEPLOYMENT };
  const checked = new Map<string, CheckedHost>();
  const running = new Map<string, Promise<void>>();
  /** The hosts that somebody waits for: those that were not looked up yet, and all after "Verify all". */
  const awaited = new Set<string>();
  let checks = Promise.resolve();
  let isChecking = false;

  async function observe(host: HostToVerify): Promise<void> {
    const [seen] = await observeHosts([host], verification);
    if (seen === undefined) return;
    const at = clock();
    const before = checked.get(host.host)?.status ?? addHost(host.host, at);
    checked.set(host.host, { status: nextStatus(before, seen, at), seen, observedAt: at });
  }

  /** One verification of a host at a time. It never throws. */
  function start(host: HostToVerify): Promise<void> {
    const started = running.get(host.host) ?? observe(host).finally(() => running.delete(host.host));
    running.set(host.host, started);
    return started;
  }

  function of(host: string): CheckedHost | undefined {
    const last = checked.get(host);
    return last && { ...last, status: statusAt(last.status, clock()) };
  }

  function isDue({ host, target }: HostToVerify): boolean {
    const last = of(host);
    if (target === undefined || running.has(host)) return false;
    const intervals = last?.status.state === "live" ? LIVE_INTERVALS : 1;
    return last === undefined || clock() - last.observedAt >= intervals * intervalMs;
  }

  function startAnew(host: string): void {
    if (of(host)?.status.state === "needs_attention") checked.delete(host);
  }

  /** Looks up some hosts at a time, after those before. Does not wait. */
  function check(hosts: readonly HostToVerify[]): void {
    isChecking = true;
    checks = checks.then(async () => {
      await mapBounded(hosts, MAX_CHECKS, (host) => start(host).finally(() => awaited.delete(host.host)));
      isChecking = awaited.size > 0;
    });
  }

  return {
    of,
    /** Verifies a host now. One that needs attention starts anew. */
    async verify(host: HostToVerify): Promise<void> {
      await running.get(host.host);
      startAnew(host.host);
      await start(host);
    },
    /** Verifies every host, as `verify` does. Does not wait. */
    verifyAll(hosts: readonly HostToVerify[]): void {
      const known = hosts.filter(({ target }) => target !== undefined);
      for (const { host } of known) {
        startAnew(host);
        awaited.add(host);
      }
      check(known);
    },
    /** Looks up the hosts of an open page whose last time is long enough ago. Does not wait. */
    follow(hosts: readonly HostToVerify[]): void {
      const due = isChecking ? [] : hosts.filter(isDue);
      for (const { host } of due) if (!checked.has(host)) awaited.add(host);
      if (due.length > 0) check(due);
    },
    /** The same for the page of one host, which does not wait for a list. */
    followOne(host: HostToVerify): void {
      if (isDue(host)) void start(host);
    },
    countAwaited: (): number => awaited.size,
    keep(hosts: readonly string[]): void {
      for (const host of checked.keys()) if (!hosts.includes(host)) checked.delete(host);
    },
  };
}
