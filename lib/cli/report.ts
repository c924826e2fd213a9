/** What `domains check` prints for people. */
import { escapeLine } from "../core/text.ts";
import { showHost } from "../domains/hostname.ts";
import { REASONS, withoutImplied } from "../domains/status/reasons.ts";
import { PROPAGATION, type StackStatus } from "../domains/status/steps.ts";
import type { HostReport } from "../domains/status/verify.ts";

export function formatReport(reports: readonly HostReport[]): string {
  if (reports.length === 0) return "There is no custom host to verify.\n";
  const verified = reports.filter(({ state }) => state === "verified").length;
  const count = `${verified} of ${reports.length} ${reports.length === 1 ? "host" : "hosts"} verified.`;
  const last = verified === reports.length ? count : `${count} ${PROPAGATION}`;
  return `${[...reports.map(formatHost), last].join("\n\n")}\n`;
}

const MARKS = { verified: "✓", pending_dns: "✗", needs_attention: "✗", unknown: "?" } as const;

function formatHost({ host, role, state, found, reasons, notes, advice, stack }: HostReport): string {
  const head = `${MARKS[state]} ${showHost(host)}  ${state}  (${role})`;
  const ok =
    found === undefined || reasons.length > 0 ? [] : [`    ${found}; the certificate authority may issue`];
  // In the other states the fixes of the reasons, and the last line of the report, say the same.
  const next = state === "verified" || state === "needs_attention" ? advice : [];
  return [
    head,
    ...ok,
    ...withoutImplied(reasons).flatMap(({ code, ...reason }) => [
      `  ${REASONS[code].title}`,
      `    found     ${reason.found}`,
      `    expected  ${reason.expected}`,
      `    fix       ${reason.fix}`,
    ]),
    ...notes.map((note) => `    note      ${note}`),
    ...next.filter((step) => step !== PROPAGATION).map((step) => `    next      ${step}`),
    ...(stack === undefined ? [] : formatStack(stack)),
  ]
    .map(escapeLine)
    .join("\n");
}

/** Formats the last status by a stack, from an update that may precede the record. Empty if the host was live. */
function formatStack({ state, attention, reason, next }: StackStatus): readonly string[] {
  if (state === "live") return [];
  const cause = attention === undefined ? "" : ` (${attention})`;
  return [
    `  The stack, in its last update: ${state}${cause}`,
    `    reason    ${reason}`,
    ...next.filter((step) => step !== PROPAGATION).map((step) => `    next      ${step}`),
  ];
}
