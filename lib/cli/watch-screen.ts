/** The screen of a watch: its content, and its painter. */
import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import type { WriteStream } from "node:tty";
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
import { advanceDomain, type HostObservation, type WatchState } from "../domains/observation.ts";
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
import type { Terminal } from "./terminal.ts";

/** The result of one observation. */
export interface WatchStep {
  readonly state: WatchState;
  readonly hosts: readonly HostScreen[];
  /** The hosts with news, once for each status that they passed through. */
  readonly changes: readonly HostScreen[];
  /** True if every host is live or needs attention. */
  readonly settled: boolean;
}

/** View model of a host. */
export interface HostScreen {
  readonly host: string;
  readonly role: HostRole;
  readonly domain: TrackedDomain;
  readonly steps: readonly ProgressStep[];
  /** The next steps, one per entry. Empty if there is nothing to do. */
  readonly todo: readonly string[];
  /** Changes when there is something new to say about the host. */
  readonly news: string;
}

/** The context of an observation. */
export interface WatchContext {
  /** The screens that are shown now, so that only news is a change. @default none */
  readonly shown?: readonly HostScreen[];
  /** @default "stack" */
  readonly deployment?: Deployment | undefined;
}

/** Advances every host by its observation, and describes it. Pure. */
export function advanceWatch(
  earlier: WatchState,
  observations: readonly HostObservation[],
  at: Instant,
  { shown = [], deployment = "stack" }: WatchContext = {},
): WatchStep {
  const state = new Map<string, TrackedDomain>();
  const hosts: HostScreen[] = [];
  const changes: HostScreen[] = [];
  for (const observation of observations) {
    const { host } = observation.verification;
    const statuses = advanceDomain(earlier.get(host) ?? addDomain(host, at), observation, at);
    const screens = statuses.map((status) => createHostScreen(status, observation, deployment));
    const [last] = screens.slice(-1);
    const before = shown.find((screen) => screen.host === host);
    state.set(host, statuses[statuses.length - 1] as TrackedDomain);
    if (last !== undefined) hosts.push(last);
    if (screens.length > 1 || before?.news !== last?.news) changes.push(...screens);
  }
  const settled = hosts.every(({ domain }) => domain.state === "live" || domain.state === "needs_attention");
  return { state, hosts, changes, settled };
}

function createHostScreen(
  domain: TrackedDomain,
  observation: HostObservation,
  deployment: Deployment,
): HostScreen {
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
  const { reasons, certificate } = report;
  const fixes = withoutImplied(reasons).map(({ code, fix }) => `${REASONS[code].title} ${fix}`);
  if (state === "live") {
    return certificate === "forbidden" ? [`The certificate cannot be renewed. ${fixes.join(" ")}`] : [];
  }
  if (state === "pending_dns") return [...fixes, PROPAGATION];
  if (state !== "needs_attention") return fixes.length === 0 ? adviceFor(domain, deployment) : fixes;
  if (attention === "certificate_overdue" || attention === "certificate_failed") {
    return certificateChecks(domain, report, deployment);
  }
  return [...fixes, ...adviceFor(domain, deployment)];
}

/** The three checks, each with its result. */
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
    `3. ${describeRequest(host, deployment)} Then run 'store-orders domains watch' with --reverify.`,
  ];
}

function describeRequest(host: string, deployment: Deployment): string {
  return deployment === "machine"
    ? REQUEST_CERTIFICATE.machine
    : `Request a new certificate: increase the number of ${host} under store-orders:reverify in the stack configuration and deploy.`;
}

/** Formats the hosts as one screen, for an interactive terminal. */
export function formatScreen(hosts: readonly HostScreen[], at: Instant): string {
  const live = hosts.filter(({ domain }) => domain.state === "live").length;
  const last = `${live} of ${hosts.length} ${hosts.length === 1 ? "host" : "hosts"} live at ${formatTimestamp(at)}.`;
  return escapeControls(`${[...hosts.map((host) => formatHost(host, at)), last].join("\n\n")}\n`);
}

const MARKS = { done: "✓", current: "…", failed: "✗", next: " " } as const;

function formatHost({ host, role, domain, steps, todo }: HostScreen, at: Instant): string {
  const head = `${markOf(domain)} ${host}  ${domain.state} for ${formatDuration(at - domain.since)}  (${role})`;
  return [
    head,
    ...steps.map((step) => formatStep(step, domain, at)),
    ...todo.map((item, index) => `    ${index === 0 ? "now" : "   "}  ${item}`),
  ].join("\n");
}

function markOf({ state }: TrackedDomain): string {
  if (state === "live") return MARKS.done;
  return state === "needs_attention" ? MARKS.failed : MARKS.current;
}

function formatStep({ name, status, detail }: ProgressStep, domain: TrackedDomain, at: Instant): string {
  const since = name === "verified" && status !== "next" ? describeVerification(domain, at) : "";
  const facts = [since, detail].filter(Boolean).join("; ");
  return `    ${MARKS[status]} ${name.padEnd(11)}  ${facts}`.trimEnd();
}

/** Describes the time since the host was verified and, while its certificate is pending, the time that is left. */
function describeVerification({ state, verifiedAt }: TrackedDomain, at: Instant): string {
  if (verifiedAt === undefined || state === "live") return "";
  const elapsed = at - verifiedAt;
  const ago = `verified ${formatDuration(elapsed)} ago`;
  if (state === "needs_attention") return ago;
  return `${ago}, needs attention in ${formatDuration(CERTIFICATE_TIMEOUT_MS - elapsed)}`;
}

/** Formats the status of a host as one line, for a log. */
export function formatChange({ host, domain, steps, todo }: HostScreen, at: Instant): string {
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

/** Describes a change of a host as JSON. */
export function toWatchChange(
  { host, role, domain, todo }: HostScreen,
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

/** Shows a step of a watch: one screen that is repainted on a terminal, otherwise one line per change. */
export function createWatchOutput(
  { display, print }: Pick<Terminal, "display" | "print">,
  { clock, json }: { readonly clock: Clock; readonly json: boolean },
): (step: WatchStep) => Promise<void> {
  if (display !== undefined && !json) return createPainter(display, clock);
  return async ({ changes }) => {
    const at = clock();
    for (const change of changes) {
      await print(`${json ? JSON.stringify(toWatchChange(change, at)) : formatChange(change, at)}\n`);
    }
  };
}

const MIN_COLUMNS = 20;

function createPainter(display: WriteStream, clock: Clock): (step: WatchStep) => Promise<void> {
  let painted = 0;
  return async ({ hosts, settled }) => {
    const lines = formatScreen(hosts, clock()).trimEnd().split("\n");
    const hint = settled ? [] : ["Ctrl-C stops the watch. The same command continues it."];
    // Some terminals report a size of zero.
    const columns = Math.max(MIN_COLUMNS, display.columns || 80);
    const rows = display.rows || 24;
    const fitted = [...lines, ...hint].flatMap((line) => wrapLine(line, columns));
    // Lines that have scrolled out of the terminal cannot be repainted. The last screen stays, so it is complete.
    const hidden = settled ? 0 : Math.max(0, fitted.length - (rows - 1));
    const shown = hidden === 0 ? fitted : [...fitted.slice(0, -hidden - 1), `… ${hidden + 1} more lines`];
    moveCursor(display, 0, -painted);
    cursorTo(display, 0);
    clearScreenDown(display);
    display.write(shown.map((line) => `${line}\n`).join(""));
    painted = shown.length;
  };
}

/** Wraps a line at spaces, with the indentation of its text, so that every line takes one row of the terminal. */
export function wrapLine(line: string, columns: number): readonly string[] {
  const indentation = " ".repeat(9);
  const rows: string[] = [];
  for (let rest = line; ; ) {
    if (rest.length <= columns) return [...rows, rest];
    const space = rest.lastIndexOf(" ", columns);
    const end = space > indentation.length ? space : columns;
    rows.push(rest.slice(0, end));
    rest = indentation + rest.slice(end).trimStart();
  }
}
