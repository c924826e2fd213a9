/** The hosts of the project, and how far each is on its way to live. */
import { setTimeout as wait } from "node:timers/promises";
import type { Clock, Instant } from "../../core/time.ts";
import { type DnsRecord, recordOf } from "../../domains/records.ts";
import type { Deployment } from "../../domains/status/facts.ts";
import { type CertificateProbe, findRecord } from "../../domains/status/facts.ts";
import {
  addDomain,
  advanceDomain,
  domainAt,
  type TrackedDomain,
  transitionDomain,
} from "../../domains/status/status.ts";
import { type HostObservation, type HostToVerify, observeHosts } from "../../domains/status/verify.ts";
import type { CertificateAuthority } from "../../domains/verification/caa.ts";
import { type DnsResolver, memoizeResolver } from "../../domains/verification/resolver.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import { type DomainsFile, openDomainsFile } from "./domains-file.ts";

/** The file that `serve --domains` reads, and the means to verify its hosts. The console changes the file. */
export interface DomainsOptions {
  readonly path: string;
  /** The plan of the project. */
  readonly plan: Plan;
  /** The platform host that the records point to, if known. */
  readonly target?: string;
  /** The zones of hosts, by host. They override the zones that DNS has. @default none */
  readonly zones?: ReadonlyMap<string, string>;
  readonly resolver: DnsResolver;
  readonly authorities: readonly CertificateAuthority[];
  readonly probe: CertificateProbe;
  /**
   * The time between two verifications of a host whose progress is on screen, in milliseconds.
   * @default 15000
   */
  readonly intervalMs?: number;
}

/** A domains file is served on one machine. */
export const DEPLOYMENT: Deployment = "machine";

export interface DomainsContext {
  readonly file: DomainsFile;
  readonly progress: ReturnType<typeof createProgress>;
  readonly clock: Clock;
}

/** Opens the domains. Nothing is looked up yet. */
export function openDomains(options: DomainsOptions, clock: Clock): DomainsContext {
  const file = openDomainsFile(options);
  const progress = createProgress(options, clock);
  async function read() {
    const snapshot = await file.read();
    // A host that is added again starts anew.
    if (snapshot.ok) progress.keep(snapshot.hosts.map(({ host }) => host));
    return snapshot;
  }
  return { file: { ...file, read }, progress, clock };
}

/** The last observation of a host, and its lifecycle since the first one. */
export interface ObservedHost extends HostObservation {
  /** The state at the present instant: time alone can change it. */
  readonly domain: TrackedDomain;
  readonly observedAt: Instant;
}

/** The time for which a record that was looked up is shown, and the time that a page waits for it. */
const MAX_RECORD_AGE_MS = 60_000;
const MAX_RECORD_WAIT_MS = 1_000;

/**
 * Creates the progress of every host, from the time that this console first verifies it: names are looked up only when
 * asked. Nothing of it is stored.
 */
export function createProgress(
  { resolver, authorities, probe, intervalMs = 15_000 }: Omit<DomainsOptions, "path" | "plan">,
  clock: Clock,
) {
  const verification = { resolver, authorities, probe, deployment: DEPLOYMENT };
  const domains = new Map<string, TrackedDomain>();
  const found = new Map<string, Omit<ObservedHost, "domain">>();
  const records = new Map<string, { readonly at: Instant; readonly record: Promise<DnsRecord> }>();
  const running = new Map<string, Promise<void>>();

  async function observe(host: HostToVerify): Promise<void> {
    const [observation] = await observeHosts([host], verification);
    if (observation === undefined) return;
    const at = clock();
    const passed = advanceDomain(domains.get(host.host) ?? addDomain(host.host, at), observation, at);
    domains.set(host.host, passed[passed.length - 1] ?? passed[0]);
    found.set(host.host, { ...observation, observedAt: at });
    const { record } = observation.verification;
    if (record !== undefined) records.set(host.host, { at, record: Promise.resolve(record) });
  }

  /** One verification of a host at a time. */
  function start(host: HostToVerify): Promise<void> {
    const started = running.get(host.host) ?? observe(host).finally(() => running.delete(host.host));
    running.set(host.host, started);
    return started;
  }

  function of(host: string): ObservedHost | undefined {
    const [domain, last] = [domains.get(host), found.get(host)];
    return domain && last && { ...last, domain: domainAt(domain, clock()) };
  }

  return {
    /** The last observation of a host. */
    of,
    /** The record that a host needs, in the zone that DNS has. Until DNS has answered, its zone is a guess. */
    record(host: HostToVerify): Promise<DnsRecord> {
      const { target = "", zone } = host;
      const last = records.get(host.host);
      const isOld = last === undefined || clock() - last.at >= MAX_RECORD_AGE_MS;
      const record = isOld ? findRecord(memoizeResolver(resolver), host, target, { zone }) : last.record;
      if (isOld) records.set(host.host, { at: clock(), record });
      const guess = recordOf(host, target, zone === undefined ? [] : [zone]);
      return Promise.race([record, wait(MAX_RECORD_WAIT_MS, guess, { ref: false })]);
    },
    /** Verifies a host now. With `reverify`, a host that needs attention starts anew. */
    async verify(host: HostToVerify, { reverify }: { readonly reverify: boolean }): Promise<void> {
      await running.get(host.host);
      const earlier = reverify ? domains.get(host.host) : undefined;
      const anew = earlier && transitionDomain(earlier, "reverify", clock());
      if (anew?.ok) domains.set(host.host, anew.domain);
      await start(host);
    },
    /** Verifies a host again if it is on its way to live, and if the last time is long enough ago. Does not wait. */
    continue(host: HostToVerify): void {
      const last = of(host.host);
      if (last === undefined || ["live", "needs_attention"].includes(last.domain.state)) return;
      // A verification never throws: an error is part of its result.
      if (clock() - last.observedAt >= intervalMs) void start(host);
    },
    /** Removes the progress of every host except these. */
    keep(hosts: readonly string[]): void {
      for (const known of [domains, found, records])
        for (const host of known.keys()) if (!hosts.includes(host)) known.delete(host);
    },
  };
}
