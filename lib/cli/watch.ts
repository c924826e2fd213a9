/** The watch over the hosts of `domains watch`: how it goes on, what has changed, and how that is printed. */
import { once } from "node:events";
import { escapeLine, formatDuration, formatTimestamp, toPrintedJson } from "../core/text.ts";
import type { Instant } from "../core/time.ts";
import type { HostRole } from "../domains/mapping.ts";
import type { Deployment } from "../domains/status/facts.ts";
import { REASONS, withoutImplied } from "../domains/status/reasons.ts";
import {
  addDomain,
  advanceDomain,
  CERTIFICATE_TIMEOUT_MS,
  type TrackedDomain,
} from "../domains/status/status.ts";
import { describeProgress, type ProgressStep, stepsFor } from "../domains/status/steps.ts";
import { type HostObservation, observeHosts } from "../domains/status/verify.ts";
import type { CommandContext } from "./context.ts";
import type { StackDomains } from "./stack-outputs.ts";

const INTERVAL_MS = 30_000;

/** `domains watch`: follows every host until it is live or needs attention, and prints each change. */
export async function watchHosts(
  { clock, flags, terminal, wait, waitForStop }: CommandContext,
  { hosts, knownZones }: StackDomains,
  verification: Parameters<typeof observeHosts>[1] & { readonly deployment: Deployment },
): Promise<WatchEnd | "stopped"> {
  const stop = new AbortController();
  const stopped = once(stop.signal, "abort").then(() => undefined);
  void waitForStop().then(() => stop.abort());
  let watched: readonly WatchedHost[] = [];
  while (!stop.signal.aborted) {
    const observed = await Promise.race([observeHosts(hosts, { ...verification, knownZones }), stopped]);
    if (observed === undefined) break;
    const at = clock();
    const step = advanceWatch(watched, observed, at, verification.deployment);
    watched = step.hosts;
    for (const change of step.changes) {
      const line = flags.json ? toPrintedJson(toWatchChange(change, at)) : formatChange(change, at);
      // Nobody reads any more, such as after `| head -1`.
      if (!(await terminal.print(`${line}\n`))) stop.abort();
    }
    if (step.end !== undefined) return step.end;
    await wait(INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {});
  }
  terminal.log("Stopped before every host was live.");
  return "stopped";
}

/** How a watch ends: every host is live, or one needs attention. */
export type WatchEnd = "live" | "needs_attention";

export interface WatchedHost {
  readonly host: string;
  readonly role: HostRole;
  readonly domain: TrackedDomain;
  readonly steps: readonly ProgressStep[];
  /** The next steps, one per entry. Empty if there is nothing to do. */
  readonly todo: readonly string[];
  /** Changes when there is something new to say about the host. */
  readonly news: string;
}

/**
 * Advances every host by its observation, and describes it. `earlier` are those of the last step, `changes` the hosts with
 * news, once for each status that they passed through. Pure.
 */
export function advanceWatch(
  earlier: readonly WatchedHost[],
  observations: readonly HostObservation[],
  at: Instant,
  deployment: Deployment = "stack",
) {
  const hosts: WatchedHost[] = [];
  const changes: WatchedHost[] = [];
  for (const observation of observations) {
    const before = earlier.find(({ host }) => host === observation.verification.host);
    const statuses = advanceDomain(before?.domain ?? startDomain(observation, at), observation, at);
    const described = statuses.map((status) => describeHost(status, observation, deployment));
    const [last] = described.slice(-1);
    if (last !== undefined) hosts.push(last);
    if (described.length > 1 || before?.news !== last?.news) changes.push(...described);
  }
  const states = hosts.map(({ domain }) => domain.state);
  const isSettled = states.every((state) => state === "live" || state === "needs_attention");
  const end: WatchEnd = states.includes("needs_attention") ? "needs_attention" : "live";
  return { hosts, changes, end: isSettled ? end : undefined };
}

/**
 * The status before the first observation. If the stack said since when it awaits a certificate that is not there yet,
 * the time that it may take has begun then, and not with the watch.
 */
function startDomain({ verification, certificate }: HostObservation, at: Instant): TrackedDomain {
  const { host, dns, stack } = verification;
  if (stack?.since === undefined || certificate?.outcome === "valid") return addDomain(host, at);
  // A time in the future is from a wrong clock. What is due some time after it would never be.
  const since = Math.min(Date.parse(stack.since), at);
  const domain = addDomain(host, since);
  const isRequested = stack.state === "certificate_pending" && dns === "ok";
  return isRequested ? { ...domain, state: "certificate_pending", verifiedAt: since } : domain;
}

function describeHost(domain: TrackedDomain, observed: HostObservation, deployment: Deployment): WatchedHost {
  const { host, role, reasons } = observed.verification;
  const fixes = withoutImplied(reasons).map(({ code, fix }) => `${REASONS[code].title} ${fix}`);
  const news = [domain.state, domain.attention, ...reasons.map(({ code, found }) => `${code} ${found}`)];
  return {
    ...{ host, role, domain },
    steps: describeProgress(domain, observed),
    todo: stepsFor(domain, fixes, deployment),
    news: news.join("\n"),
  };
}

function describeVerification({ state, verifiedAt }: TrackedDomain, at: Instant): string {
  if (verifiedAt === undefined || state === "live") return "";
  const elapsed = at - verifiedAt;
  const ago = `verified ${formatDuration(elapsed)} ago`;
  if (state === "needs_attention") return ago;
  return `${ago}, needs attention in ${formatDuration(CERTIFICATE_TIMEOUT_MS - elapsed)}`;
}

export function formatChange({ host, domain, steps, todo }: WatchedHost, at: Instant): string {
  const reached = steps.filter(({ status, detail }) => status !== "next" && detail !== "").at(-1);
  const since = describeVerification(domain, at);
  const facts = [reached === undefined ? "" : `${reached.name} ${reached.detail}`, since].filter(Boolean);
  const what = [`${formatTimestamp(at)}  ${host}  ${domain.state}`, facts.join("; "), todo.join(" ")];
  return escapeLine(what.filter(Boolean).join("  "));
}

/** One line of `domains watch --json`. */
function toWatchChange({ host, role, domain, todo }: WatchedHost, at: Instant): object {
  const { state, attention, since, verifiedAt } = domain;
  return {
    ...{ at: formatTimestamp(at), host, role, state },
    ...(attention === undefined ? {} : { attention }),
    since: formatTimestamp(since),
    ...(verifiedAt === undefined ? {} : { verifiedAt: formatTimestamp(verifiedAt) }),
    todo,
  };
}
