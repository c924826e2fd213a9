/** The hosts of the project: where they come from, and how far each is on its way to live. */
import { setTimeout as wait } from "node:timers/promises";
import { type Issue, isInvalidInput } from "../../core/errors.ts";
import type { Clock, Instant } from "../../core/time.ts";
import { addDomain, domainAt, type TrackedDomain } from "../../domains/lifecycle.ts";
import {
  advanceDomain,
  type CertificateProbe,
  type HostObservation,
  observeHosts,
  startWatch,
} from "../../domains/observation.ts";
import { type DnsRecord, recordOf } from "../../domains/records.ts";
import type { Deployment } from "../../domains/verification/advice.ts";
import type { CertificateAuthority } from "../../domains/verification/caa.ts";
import { type DnsResolver, memoizeResolver } from "../../domains/verification/resolver.ts";
import { findRecord, type HostToVerify } from "../../domains/verification/verify.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import { type DomainChange, type DomainsChange, openDomainsFile } from "./domains-file.ts";

/** The source of the console's domains, and the means to verify them. */
export interface DomainsOptions {
  readonly source: FileSource | StackSource;
  readonly resolver: DnsResolver;
  readonly authorities: readonly CertificateAuthority[];
  readonly probe: CertificateProbe;
  /** @default "stack" */
  readonly deployment?: Deployment;
  /** The zones of hosts, by host. They override the zones that DNS has. @default none */
  readonly zones?: ReadonlyMap<string, string>;
  /**
   * The time between two verifications of a host whose progress is on screen, in milliseconds.
   * @default 15000
   */
  readonly intervalMs?: number;
}

/** The file that `serve --domains` reads. The console changes it. */
export interface FileSource {
  readonly kind: "file";
  readonly path: string;
  /** The plan of the project. */
  readonly plan: Plan;
  /** The platform host that the records point to, if known. */
  readonly target?: string;
}

/** The outputs of a stack. The console changes nothing of it. */
interface StackSource {
  readonly kind: "stack";
  /** The outputs' name for people. */
  readonly name: string;
  /** Reads the outputs again. Rejects with an `InvalidInputError` if they are not those of this service. */
  read(): Promise<{ readonly hosts: readonly HostToVerify[]; readonly knownZones: readonly string[] }>;
}

/** The hosts of the project at one time. */
export interface KnownHosts {
  readonly ok: true;
  /** The version of the file; empty for a stack. */
  readonly version: string;
  readonly hosts: readonly HostToVerify[];
  readonly knownZones: readonly string[];
}

/** The hosts of the project at one time, or every problem of their source. */
export type HostsSnapshot = KnownHosts | { readonly ok: false; readonly problems: readonly HostsProblem[] };

/** A problem of a domains file or of a stack's outputs, with its position. */
export interface HostsProblem extends Issue {
  /** From 1. Missing, like the column, if the problem has no place. */
  readonly line?: number;
  readonly column?: number;
}

/** A domains file, or the outputs of a stack. */
export interface HostSource {
  readonly kind: DomainsOptions["source"]["kind"];
  /** The source's name for people. */
  readonly name: string;
  /** Reads the hosts as they are now. */
  read(): Promise<HostsSnapshot>;
  /** Makes a change of the version that its author saw. Missing if the console cannot change the source. */
  change?(version: string, change: DomainChange): Promise<DomainsChange>;
}

/** The dependencies of the pages about domains. */
export interface DomainsContext {
  readonly source: HostSource;
  readonly progress: ReturnType<typeof createProgress>;
  readonly clock: Clock;
}

/** Opens the domains. Nothing is looked up yet. */
export function openDomains(options: DomainsOptions, clock: Clock): DomainsContext {
  const { source: opened, zones } = options;
  const source: HostSource = opened.kind === "file" ? openDomainsFile(opened) : openStack(opened);
  let knownZones: readonly string[] = [];
  const progress = createProgress(options, clock, () => knownZones);
  async function read() {
    const snapshot = await source.read();
    if (!snapshot.ok) return snapshot;
    knownZones = snapshot.knownZones;
    // A host that is added again starts anew.
    progress.keep(snapshot.hosts.map(({ host }) => host));
    const hosts = snapshot.hosts.map((host) => {
      const zone = zones?.get(host.host);
      return zone === undefined ? host : { ...host, zone };
    });
    return { ...snapshot, hosts };
  }
  return { source: { ...source, read }, progress, clock };
}

/** Opens the outputs of a stack. */
function openStack({ kind, name, read }: StackSource): HostSource {
  return {
    kind,
    name,
    async read() {
      try {
        return { ok: true, version: "", ...(await read()) };
      } catch (error) {
        if (!isInvalidInput(error)) throw error;
        return { ok: false, problems: error.issues };
      }
    },
  };
}

/** The name of the primary, if there is one. */
export function primaryOf({ hosts }: KnownHosts): string | undefined {
  return hosts.find(({ role }) => role === "primary")?.host;
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
  { intervalMs = 15_000, ...verification }: Omit<DomainsOptions, "source" | "zones">,
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
