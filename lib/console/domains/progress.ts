import { setTimeout as wait } from "node:timers/promises";
import type { Clock, Instant } from "../../core/time.ts";
import { addDomain, domainAt, type TrackedDomain } from "../../domains/lifecycle.ts";
import { advanceDomain, type HostObservation, observeHosts, startWatch } from "../../domains/observation.ts";
import { type DnsRecord, recordOf } from "../../domains/records.ts";
import { memoizeResolver } from "../../domains/verification/resolver.ts";
import { findRecord, type HostToVerify } from "../../domains/verification/verify.ts";
import type { DomainsOptions } from "./host-source.ts";

/** The last observation of a host, and its lifecycle since the first one. */
export interface ObservedHost extends HostObservation {
  /** The state at the present instant: time alone can change it. */
  readonly domain: TrackedDomain;
  readonly observedAt: Instant;
}

/** See `createProgress`. */
export type HostProgress = ReturnType<typeof createProgress>;

const INTERVAL_MS = 15_000;

/** The time for which a record that was looked up is shown, and the time that a page waits for it. */
const MAX_RECORD_AGE_MS = 60_000;
const MAX_RECORD_WAIT_MS = 1_000;

/**
 * Creates the progress of every host, from the time that this console first verifies it: names are looked up only when
 * asked. Nothing of it is stored.
 */
export function createProgress(
  { intervalMs = INTERVAL_MS, ...verification }: Omit<DomainsOptions, "source" | "zones">,
  clock: Clock,
  knownZones: () => readonly string[],
) {
  const domains = new Map<string, TrackedDomain>();
  const found = new Map<string, Omit<ObservedHost, "domain">>();
  const records = new Map<string, { readonly at: Instant; readonly record: Promise<DnsRecord> }>();
  const running = new Map<string, Promise<void>>();

  async function observe(host: HostToVerify): Promise<void> {
    const [observation] = await observeHosts([host], { ...verification, knownZones: knownZones() });
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
      const { target = "" } = host;
      const last = records.get(host.host);
      const isOld = last === undefined || clock() - last.at >= MAX_RECORD_AGE_MS;
      const hints = { zone: host.zone, knownZones: knownZones() };
      const resolver = memoizeResolver(verification.resolver);
      const record = isOld ? findRecord(resolver, host, target, hints) : last.record;
      if (isOld) records.set(host.host, { at: clock(), record });
      const guess = recordOf(host, target, host.zone === undefined ? hints.knownZones : [host.zone]);
      return Promise.race([record, wait(MAX_RECORD_WAIT_MS, guess, { ref: false })]);
    },
    /** Verifies a host now. With `reverify`, a host that needs attention starts anew. */
    async verify(host: HostToVerify, { reverify }: { readonly reverify: boolean }): Promise<void> {
      await running.get(host.host);
      const started = startWatch([host.host], domains, { at: clock(), reverify });
      for (const [name, domain] of started) domains.set(name, domain);
      await start(host);
    },
    /** Verifies a host again if it is on its way to live, and if the last time is long enough ago. Does not wait. */
    continue(host: HostToVerify): void {
      const last = of(host.host);
      if (last === undefined || last.domain.state === "live" || last.domain.state === "needs_attention")
        return;
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
