import { once } from "node:events";
import { escapeLine, formatDuration, formatTimestamp, toPrintedJson } from "../core/text.ts";
import type { Instant } from "../core/time.ts";
import { addHost, CERTIFICATE_TIMEOUT_MS, type HostStatus, nextStatus } from "../domains/status/status.ts";
import { describeProgress, type SeenHost, stepsFor } from "../domains/status/steps.ts";
import { type ObservedHost, observeHosts } from "../domains/status/verify.ts";
import type { Deployment } from "../domains/verification/providers.ts";
import type { CommandContext } from "./context.ts";
import type { StackDomains } from "./stack-outputs.ts";

const INTERVAL_MS = 30_000;

/** `domains watch`: follows every host until it is live or needs attention, and prints each change. */
export async function watchHosts(
  { clock, flags, terminal, wait, waitForStop }: CommandContext,
  { hosts, knownZones }: StackDomains,
  verification: Parameters<typeof observeHosts>[1] & { readonly deployment: Deployment },
): Promise<WatchEnd | "stopped"> {
  const { deployment } = verification;
  const stop = new AbortController();
  const stopped = once(stop.signal, "abort").then(() => undefined);
  void waitForStop().then(() => stop.abort());
  let watched: readonly WatchedHost[] = [];
  while (!stop.signal.aborted) {
    const observed = await Promise.race([observeHosts(hosts, { ...verification, knownZones }), stopped]);
    if (observed === undefined) break;
    const at = clock();
    const step = advanceWatch(watched, observed, at);
    watched = step.hosts;
    for (const change of step.changes) {
      const line = (flags.json ? formatAsJson : formatChange)(change, at, deployment);
      // Nobody reads any more, such as after `| head -1`.
      if (!(await terminal.print(`${line}\n`))) stop.abort();
    }
    if (step.end !== undefined) return step.end;
    await wait(INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {});
  }
  terminal.log("Stopped before every host was live.");
  return "stopped";
}

type WatchEnd = "live" | "needs_attention";

export interface WatchedHost extends SeenHost {
  readonly seen: ObservedHost;
  /** Changes when there is something new to say about the host. */
  readonly news: string;
}

/** The status of every host after it was observed. `changes` are the hosts with news since the last step. Pure. */
export function advanceWatch(last: readonly WatchedHost[], observed: readonly ObservedHost[], at: Instant) {
  const hosts = observed.map((seen) => {
    const before = last.find(({ status }) => status.host === seen.host);
    const status = nextStatus(before?.status ?? startStatus(seen, at), seen, at);
    const found = seen.reasons.map(({ code, found }) => `${code} ${found}`);
    return { status, seen, news: [status.state, status.attention, ...found].join("\n") };
  });
  const isOld = (host: WatchedHost) =>
    last.some(({ status, news }) => status.host === host.status.host && news === host.news);
  const changes = hosts.filter((host) => !isOld(host));
  const states = hosts.map(({ status }) => status.state);
  const isSettled = states.every((state) => state === "live" || state === "needs_attention");
  const end: WatchEnd = states.includes("needs_attention") ? "needs_attention" : "live";
  return { hosts, changes, end: isSettled ? end : undefined };
}

/** The status before the first observation. The time that a certificate may take has begun when the stack requested it. */
function startStatus({ host, dns, stack, served }: ObservedHost, at: Instant): HostStatus {
  // The authority works on no certificate of the host until the stack requests another one.
  if (dns === "target_unknown" && stack?.attention !== undefined)
    return { ...addHost(host, at), state: stack.state, attention: stack.attention };
  if (stack?.since === undefined || served?.outcome === "valid") return addHost(host, at);
  // A time in the future is from a wrong clock. What is due some time after it would never be.
  const since = Math.min(Date.parse(stack.since), at);
  const status = addHost(host, since);
  const isRequested = stack.state === "certificate_pending" && dns === "ok";
  return isRequested ? { ...status, state: "certificate_pending", verifiedAt: since } : status;
}

function describeVerification({ state, verifiedAt }: HostStatus, at: Instant): string {
  if (verifiedAt === undefined || state === "live") return "";
  const elapsed = at - verifiedAt;
  const ago = `verified ${formatDuration(elapsed)} ago`;
  if (state === "needs_attention") return ago;
  return `${ago}, needs attention in ${formatDuration(CERTIFICATE_TIMEOUT_MS - elapsed)}`;
}

export function formatChange(host: WatchedHost, at: Instant, deployment: Deployment = "manual"): string {
  const { status } = host;
  const reached = describeProgress(host).findLast((step) => step.status !== "next" && step.detail !== "");
  const since = describeVerification(status, at);
  const facts = [reached === undefined ? "" : `${reached.name} ${reached.detail}`, since].filter(Boolean);
  const todo = stepsFor(host, deployment, { isNamed: true }).join(" ");
  const what = [`${formatTimestamp(at)}  ${status.host}  ${status.state}`, facts.join("; "), todo];
  return escapeLine(what.filter(Boolean).join("  "));
}

function formatAsJson(watched: WatchedHost, at: Instant, deployment: Deployment): string {
  const { host, state, attention, since, verifiedAt } = watched.status;
  return toPrintedJson({
    ...{ at: formatTimestamp(at), host, role: watched.seen.role, state },
    ...(attention === undefined ? {} : { attention }),
    since: formatTimestamp(since),
    ...(verifiedAt === undefined ? {} : { verifiedAt: formatTimestamp(verifiedAt) }),
    todo: stepsFor(watched, deployment, { isNamed: true }),
  });
}
