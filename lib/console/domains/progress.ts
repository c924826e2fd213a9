import { setTimeout as wait } from "node:timers/promises";
import type { Clock, Instant } from "../../core/time.ts";
import { addDomain, domainAt, type TrackedDomain } from "../../domains/lifecycle.ts";
import {
  advanceDomain,
  type HostObservation,
  observeHosts,
  startWatch,
  type WatchState,
} from "../../domains/observation.ts";
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

/** The progress of every host, since this console first verified it. Nothing of it is stored. */
export interface HostProgress {
  of(host: string): ObservedHost | undefined;
  /** The record that a host needs, in the zone that DNS has. Until DNS has answered, its zone is a guess. */
  record(host: HostToVerify): Promise<DnsRecord>;
  /** Verifies a host now. With `reverify`, a host that needs attention starts anew. */
  verify(host: HostToVerify, options: { readonly reverify: boolean }): Promise<void>;
  /** Verifies a host again if it is on its way to live, and if the last time is long enough ago. Does not wait. */
  continue(host: HostToVerify): void;
  /** Removes the progress of every host except these. */
  keep(hosts: readonly string[]): void;
}

const INTERVAL_MS = 15_000;

/** The time for which a record that was looked up is shown, and the time that a page waits for it. */
const MAX_RECORD_AGE_MS = 60_000;
const MAX_RECORD_WAIT_MS = 1_000;

/** Creates the progress of hosts that nobody has verified yet: names are looked up only when asked. */
export function createProgress(
  { resolver, authorities, probe, deployment, intervalMs = INTERVAL_MS }: Omit<DomainsOptions, "source">,
  clock: Clock,
  knownZones: () => readonly string[],
): HostProgress {
  let state: WatchState = new Map();
  const found = new Map<string, Omit<ObservedHost, "domain">>();
  const records = new Map<string, { readonly at: Instant; readonly record: Promise<DnsRecord> }>();
  const running = new Map<string, Promise<void>>();

  async function observe(host: HostToVerify): Promise<void> {
    const observations = await observeHosts([host], {
      resolver,
      authorities,
      probe,
      deployment,
      knownZones: knownZones(),
    });
    for (const observation of observations) {
      const earlier = state.get(host.host) ?? addDomain(host.host, clock());
      const passed = advanceDomain(earlier, observation, clock());
      state = new Map([...state, [host.host, passed.at(-1) ?? earlier]]);
      found.set(host.host, { ...observation, observedAt: clock() });
      const { record } = observation.verification;
      if (record !== undefined) records.set(host.host, { at: clock(), record: Promise.resolve(record) });
    }
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
    record(host) {
      const { target = "" } = host;
      const last = records.get(host.host);
      const isOld = last === undefined || clock() - last.at >= MAX_RECORD_AGE_MS;
      const hints = { zone: host.zone, knownZones: knownZones() };
      const record = isOld ? findRecord(memoizeResolver(resolver), host, target, hints) : last.record;
      if (isOld) records.set(host.host, { at: clock(), record });
      const guess = recordOf(host, target, host.zone === undefined ? hints.knownZones : [host.zone]);
      return Promise.race([record, wait(MAX_RECORD_WAIT_MS, guess, { ref: false })]);
    },
    async verify(host, { reverify }) {
      await running.get(host.host);
      state = new Map([...state, ...startWatch([host.host], state, { at: clock(), reverify })]);
      await start(host);
    },
    continue(host) {
      const last = progress.of(host.host);
      if (last === undefined || last.domain.state === "live" || last.domain.state === "needs_attention")
        return;
      // A verification never throws: an error is part of its result.
      if (clock() - last.observedAt >= intervalMs) void start(host);
    },
    keep(hosts) {
      const names = new Set(hosts);
      state = new Map([...state].filter(([host]) => names.has(host)));
      for (const known of [found, records]) {
        for (const host of known.keys()) if (!names.has(host)) known.delete(host);
      }
    },
  };
  return progress;
}
