import type { Instant } from "../../clock.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import { escapeControls } from "../escape-controls.ts";
import { CERTIFICATE_TIMEOUT_MS, type TrackedDomain } from "../lifecycle.ts";
import type { HostScreen, Step } from "./screen.ts";

/** Formats what there is to see as one screen, for an interactive terminal. */
export function formatScreen(hosts: readonly HostScreen[], at: Instant): string {
  const live = hosts.filter(({ domain }) => domain.state === "live").length;
  const last = `${live} of ${hosts.length} ${hosts.length === 1 ? "host" : "hosts"} live at ${formatTime(at)}.`;
  return escapeControls(`${[...hosts.map((host) => formatHost(host, at)), last].join("\n\n")}\n`);
}

/** Formats the status of a host as one line, for a log. */
export function formatChange({ host, domain, steps, todo }: HostScreen, at: Instant): string {
  const reached = steps.filter(({ status, detail }) => status !== "next" && detail !== "").at(-1);
  const since = describeVerification(domain, at);
  const facts = [reached === undefined ? "" : `${reached.name} ${reached.detail}`, since].filter(Boolean);
  const what = [`${formatTime(at)}  ${host}  ${domain.state}`, facts.join("; "), todo.join(" ")];
  return escapeControls(what.filter(Boolean).join("  "));
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

function formatStep({ name, status, detail }: Step, domain: TrackedDomain, at: Instant): string {
  const since = name === "verified" && status !== "next" ? describeVerification(domain, at) : "";
  const text = [since, detail].filter(Boolean).join("; ");
  return `    ${MARKS[status]} ${name.padEnd(11)}  ${text}`.trimEnd();
}

/** How long ago the host was verified and, while its certificate is pending, how long it may still take. */
function describeVerification({ state, verifiedAt }: TrackedDomain, at: Instant): string {
  if (verifiedAt === undefined || state === "live") return "";
  const elapsed = at - verifiedAt;
  const ago = `verified ${formatDuration(elapsed)} ago`;
  if (state === "needs_attention") return ago;
  return `${ago}, needs attention in ${formatDuration(CERTIFICATE_TIMEOUT_MS - elapsed)}`;
}

/** Formats a duration with its two largest units. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (milliseconds < MINUTE_MS) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Formats an instant as RFC 3339 with whole seconds. */
export function formatTime(at: Instant): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}
