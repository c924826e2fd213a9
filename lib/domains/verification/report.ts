import { escapeControls } from "../escape-controls.ts";
import { PROPAGATION } from "./advice.ts";
import { REASONS, type Reason, type ReasonCode } from "./reasons.ts";
import type { StackStatus } from "./stack-status.ts";
import type { HostReport } from "./verify-hosts.ts";

/** Formats reports as text for people: for each host its state and, for each reason, found, expected, and the fix. */
export function formatReport(reports: readonly HostReport[]): string {
  if (reports.length === 0) return "There is no custom host to verify.\n";
  const verified = reports.filter(({ state }) => state === "verified").length;
  const count = `${verified} of ${reports.length} ${reports.length === 1 ? "host" : "hosts"} verified.`;
  const last = verified === reports.length ? count : `${count} ${PROPAGATION}`;
  return escapeControls(`${[...reports.map(formatHost), last].join("\n\n")}\n`);
}

const MARKS = { verified: "✓", pending_dns: "✗", needs_attention: "✗", unknown: "?" } as const;

function formatHost({ host, role, state, found, reasons, advice, stack }: HostReport): string {
  const head = `${MARKS[state]} ${host}  ${state}  (${role})`;
  const ok =
    found === undefined || reasons.length > 0 ? [] : [`    ${found}; the certificate authority may issue`];
  // In the other states the fixes of the reasons, and the last line of the report, say the same.
  const next = state === "verified" || state === "needs_attention" ? advice : [];
  return [
    head,
    ...ok,
    ...withoutImplied(reasons).map(formatReason),
    ...next.filter((step) => step !== PROPAGATION).map((step) => `    next      ${step}`),
    ...(stack === undefined ? [] : formatStack(stack)),
  ].join("\n");
}

/** What the stack said, unless it has nothing to say: its last update may have been before the record was set. */
function formatStack({ state, attention, reason, next }: StackStatus): readonly string[] {
  if (state === "live") return [];
  const cause = attention === undefined ? "" : ` (${attention})`;
  return [
    `  The stack, in its last update: ${state}${cause}`,
    `    reason    ${reason}`,
    ...next.filter((step) => step !== PROPAGATION).map((step) => `    next      ${step}`),
  ];
}

/** Reasons that imply a failed lookup of the host's CAA records, too. */
const IMPLY_CAA_FAILURE: ReadonlySet<ReasonCode> = new Set(["dns_unanswered", "zone_lame", "cname_loop"]);

/** Leaves out reasons that follow from others. */
export function withoutImplied(reasons: readonly Reason[]): readonly Reason[] {
  const implied = reasons.some(({ code }) => IMPLY_CAA_FAILURE.has(code));
  return implied ? reasons.filter(({ code }) => code !== "caa_unanswered") : reasons;
}

function formatReason({ code, found, expected, fix }: Reason): string {
  return [
    `  ${REASONS[code].title}`,
    `    found     ${found}`,
    `    expected  ${expected}`,
    `    fix       ${fix}`,
  ].join("\n");
}
