import type { Instant } from "../../clock.ts";
import { addDomain, type TrackedDomain, transitionDomain } from "../lifecycle.ts";
import type { HostReport } from "../verification/verify-hosts.ts";
import { advanceDomain } from "./advance.ts";
import type { CertificateCheck } from "./certificate-check.ts";
import { createHostScreen, type HostScreen } from "./screen.ts";

/** The domains that are watched, by host. */
export type WatchState = ReadonlyMap<string, TrackedDomain>;

/** What was found out about a host. */
export interface HostObservation {
  readonly report: HostReport;
  readonly certificate?: CertificateCheck;
}

/** The result of one observation. */
export interface WatchStep {
  readonly state: WatchState;
  readonly hosts: readonly HostScreen[];
  /** The hosts with something new to say, once for each status that they passed through. */
  readonly changes: readonly HostScreen[];
  /** True if every host is live or needs attention. */
  readonly settled: boolean;
}

/** Starts a watch at the statuses of an earlier one. With `reverify`, hosts that need attention are verified anew. */
export function startWatch(
  hosts: readonly string[],
  earlier: WatchState,
  { at, reverify }: { readonly at: Instant; readonly reverify: boolean },
): WatchState {
  return new Map(
    hosts.map((host) => {
      const domain = earlier.get(host) ?? addDomain(host, at);
      const result = reverify ? transitionDomain(domain, "reverify", at) : undefined;
      return [host, result?.ok === true ? result.domain : domain];
    }),
  );
}

/** Advances every host by what was observed, and describes what there is to see. Pure. */
export function advanceWatch(
  earlier: WatchState,
  observations: readonly HostObservation[],
  at: Instant,
  shown: readonly HostScreen[] = [],
): WatchStep {
  const state = new Map<string, TrackedDomain>();
  const hosts: HostScreen[] = [];
  const changes: HostScreen[] = [];
  for (const { report, certificate } of observations) {
    const { host } = report;
    const observation = { verification: report, ...(certificate === undefined ? {} : { certificate }) };
    const statuses = advanceDomain(earlier.get(host) ?? addDomain(host, at), observation, at);
    const screens = statuses.map((status) => createHostScreen(status, report, certificate));
    const last = screens.at(-1);
    const before = shown.find((screen) => screen.host === host);
    state.set(host, statuses[statuses.length - 1] as TrackedDomain);
    if (last !== undefined) hosts.push(last);
    if (screens.length > 1 || before?.news !== last?.news) changes.push(...screens);
  }
  const settled = hosts.every(({ domain }) => domain.state === "live" || domain.state === "needs_attention");
  return { state, hosts, changes, settled };
}
