/** The watch over the hosts of `domains watch`: how it goes on, what has changed, and how that is printed. */
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { escapeControls, formatDuration, formatTimestamp } from "../core/text.ts";
import type { Clock, Instant } from "../core/time.ts";
import {
  ATTENTION_REASONS,
  addDomain,
  CERTIFICATE_TIMEOUT_MS,
  DOMAIN_STATES,
  type DomainState,
  type TrackedDomain,
} from "../domains/lifecycle.ts";
import type { HostRole } from "../domains/mapping.ts";
import { advanceDomain, type HostObservation, observeHosts } from "../domains/observation.ts";
import { describeProgress, type ProgressStep } from "../domains/progress.ts";
import {
  adviceFor,
  type Deployment,
  PROPAGATION,
  REQUEST_CERTIFICATE,
} from "../domains/verification/advice.ts";
import { REASONS } from "../domains/verification/reasons.ts";
import { withoutImplied } from "../domains/verification/report.ts";
import type { HostReport } from "../domains/verification/verify.ts";
import type { VerificationTools } from "./commands/domains.ts";
import type { CommandContext } from "./context.ts";
import type { StackDomains } from "./stack-outputs.ts";

const INTERVAL_MS = 30_000;

/** `domains watch`: follows every host until it is live or needs attention, and prints each change. */
export async function watchHosts(
  { clock, flags, terminal, waitForStop }: CommandContext,
  { hosts, knownZones }: StackDomains,
  verification: VerificationTools,
): Promise<WatchEnd> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<"stopped">();
  const stopping = new AbortController();
  void stopped.then(() => stopping.abort());
  void waitForStop().then(() => stop("stopped"));
  const end = await runWatch({
    clock,
    deployment: verification.deployment,
    async show({ changes }) {
      const at = clock();
      for (const change of changes) {
        const line = flags.json ? JSON.stringify(toWatchChange(change, at)) : formatChange(change, at);
        // Nobody reads any more, such as after `| head -1`.
        if (!(await terminal.print(`${line}\n`))) return stop("stopped");
      }
    },
    stopped,
    sleep: () => wait(INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => {}),
    observe: () => observeHosts(hosts, { ...verification, knownZones }),
  });
  if (end === "stopped") terminal.log("Stopped before every host was live.");
  return end;
}

interface WatchEffects {
  readonly clock: Clock;
  /** @default "stack" */
  readonly deployment?: Deployment;
  observe(): Promise<readonly HostObservation[]>;
  show(step: WatchStep): Promise<void>;
  sleep(): Promise<unknown>;
  /** Resolves when the watch has to stop, also during an observation. */
  readonly stopped: Promise<"stopped">;
}

export type WatchEnd = "live" | "needs_attention" | "stopped";

/** Observes hosts until each is live or needs attention, or until it has to stop. */
export async function runWatch(effects: WatchEffects): Promise<WatchEnd> {
  let hosts: readonly WatchedHost[] = [];
  for (;;) {
    const observed = await Promise.race([effects.observe(), effects.stopped]);
    if (observed === "stopped") return observed;
    const step = advanceWatch(hosts, observed, effects.clock(), effects.deployment);
    hosts = step.hosts;
    await effects.show(step);
    if (step.settled)
      return hosts.every(({ domain }) => domain.state === "live") ? "live" : "needs_attention";
    if ((await Promise.race([effects.sleep(), effects.stopped])) === "stopped") return "stopped";
  }
}

export interface WatchStep {
  readonly hosts: readonly WatchedHost[];
  /** The hosts with news, once for each status that they passed through. */
  readonly changes: readonly WatchedHost[];
  /** True if every host is live or needs attention. */
  readonly settled: boolean;
}

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

/** Advances every host by its observation, and describes it. `earlier` are those of the last step. Pure. */
export function advanceWatch(
  earlier: readonly WatchedHost[],
  observations: readonly HostObservation[],
  at: Instant,
  deployment: Deployment = "stack",
): WatchStep {
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
  const settled = hosts.every(({ domain }) => domain.state === "live" || domain.state === "needs_attention");
  return { hosts, changes, settled };
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

function describeHost(
  domain: TrackedDomain,
  observation: HostObservation,
  deployment: Deployment,
): WatchedHost {
  const { verification: report } = observation;
  const news = [
    domain.state,
    domain.attention,
    ...report.reasons.map(({ code, found }) => `${code} ${found}`),
  ];
  return {
    host: report.host,
    role: report.role,
    domain,
    steps: describeProgress(domain, observation),
    todo: todoFor(domain, report, deployment),
    news: news.join("\n"),
  };
}

/** The record to fix while it is wrong, the three checks if no certificate is issued, otherwise the advice. */
function todoFor(domain: TrackedDomain, report: HostReport, deployment: Deployment): readonly string[] {
  const { state, attention } = domain;
  const { reasons } = report;
  const fixes = withoutImplied(reasons).map(({ code, fix }) => `${REASONS[code].title} ${fix}`);
  if (state === "live") {
    const isRenewable = reasons.every(
      ({ code }) => REASONS[code].aspect === "dns" || code === "caa_unanswered",
    );
    if (!isRenewable) return [`The certificate cannot be renewed. ${fixes.join(" ")}`];
    return report.dns === "disagreement" ? fixes : [];
  }
  if (state === "pending_dns") return [...fixes, PROPAGATION];
  if (state !== "needs_attention") return fixes.length === 0 ? adviceFor(domain, deployment) : fixes;
  if (attention === "certificate_overdue" || attention === "certificate_failed") {
    return certificateChecks(domain, report, deployment);
  }
  return [...fixes, ...adviceFor(domain, deployment)];
}

function certificateChecks(
  domain: TrackedDomain,
  report: HostReport,
  deployment: Deployment,
): readonly string[] {
  const { host, dns, certificate, reasons } = report;
  const fixesOf = (aspect: "dns" | "certificate") =>
    reasons.filter(({ code }) => REASONS[code].aspect === aspect).map(({ fix }) => ` ${fix}`);
  const verifies = { ok: "Yes.", unknown: "Unknown, because the DNS lookup failed." };
  const forbids = { allowed: "No.", forbidden: "Yes.", unknown: "Unknown, because the DNS lookup failed." };
  return [
    adviceFor(domain)[0] ?? "",
    `1. Does ${host} still verify? ${dns === "ok" || dns === "unknown" ? verifies[dns] : "No."}${fixesOf("dns").join("")}`,
    `2. Do CAA records forbid the certificate authority? ${forbids[certificate]}${fixesOf("certificate").join("")}`,
    `3. ${describeRequest(host, deployment)} Then run 'store-orders domains watch' again.`,
  ];
}

function describeRequest(host: string, deployment: Deployment): string {
  return deployment === "machine"
    ? REQUEST_CERTIFICATE.machine
    : `Request a new certificate: increase the number of ${host} under store-orders:reverify in the stack configuration and deploy.`;
}

/** Describes the time since the host was verified and, while its certificate is pending, the time that is left. */
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
  return escapeControls(what.filter(Boolean).join("  "));
}

const timestamp = z.iso.datetime();

/** The schema of one line of `domains watch --json` (zod). */
export const watchChangeSchema = z.strictObject({
  at: timestamp.describe("When it was observed."),
  host: z.string().describe("In lower case, punycode, without a trailing dot."),
  role: z.enum(["primary", "alias", "redirect"]),
  state: z.enum(DOMAIN_STATES as [DomainState, ...DomainState[]]),
  attention: z.enum(ATTENTION_REASONS).exactOptional().describe("Present only in the state needs_attention."),
  since: timestamp.describe("When the host entered the state."),
  verifiedAt: timestamp.exactOptional().describe("When DNS was verified for the certificate."),
  todo: z.array(z.string()).describe("What to do now, one step per entry."),
});

export function toWatchChange(
  { host, role, domain, todo }: WatchedHost,
  at: Instant,
): z.output<typeof watchChangeSchema> {
  const { state, attention, since, verifiedAt } = domain;
  return {
    at: formatTimestamp(at),
    host,
    role,
    state,
    ...(attention === undefined ? {} : { attention }),
    since: formatTimestamp(since),
    ...(verifiedAt === undefined ? {} : { verifiedAt: formatTimestamp(verifiedAt) }),
    todo: [...todo],
  };
}
