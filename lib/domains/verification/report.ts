import * as z from "zod";
import { escapeLine } from "../../core/text.ts";
import { ATTENTION_REASONS, DOMAIN_STATES, type DomainState } from "../lifecycle.ts";
import { PROPAGATION } from "./advice.ts";
import { REASONS, type Reason, type ReasonCode } from "./reasons.ts";
import type { HostReport } from "./verify.ts";

const time = z.iso.datetime();

/** The schema of the status of a host in the last update of its stack (zod). */
export const stackStatusSchema = z.strictObject({
  state: z.enum(DOMAIN_STATES as [DomainState, ...DomainState[]]),
  attention: z.enum(ATTENTION_REASONS).exactOptional().describe("Present only in the state needs_attention."),
  reason: z.string().describe("Why the host was in this state."),
  next: z.array(z.string()).describe("What to do, one step per entry."),
  since: time.exactOptional().describe("When the certificate that is awaited was requested."),
  until: time.exactOptional().describe("When ACM stops waiting for the validation of the certificate."),
});

/** The status of a host in the last update of its stack. DNS and the certificate may have changed since. */
export type StackStatus = z.output<typeof stackStatusSchema>;

/** Formats reports as text for people: for each host its state and, for each reason, found, expected, and the fix. */
export function formatReport(reports: readonly HostReport[]): string {
  if (reports.length === 0) return "There is no custom host to verify.\n";
  const verified = reports.filter(({ state }) => state === "verified").length;
  const count = `${verified} of ${reports.length} ${reports.length === 1 ? "host" : "hosts"} verified.`;
  const last = verified === reports.length ? count : `${count} ${PROPAGATION}`;
  return `${[...reports.map(formatHost), last].join("\n\n")}\n`;
}

const MARKS = { verified: "✓", pending_dns: "✗", needs_attention: "✗", unknown: "?" } as const;

function formatHost({ host, role, state, found, reasons, notes, advice, stack }: HostReport): string {
  const head = `${MARKS[state]} ${host}  ${state}  (${role})`;
  const ok =
    found === undefined || reasons.length > 0 ? [] : [`    ${found}; the certificate authority may issue`];
  // In the other states the fixes of the reasons, and the last line of the report, say the same.
  const next = state === "verified" || state === "needs_attention" ? advice : [];
  return [
    head,
    ...ok,
    ...withoutImplied(reasons).flatMap(formatReason),
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

/** Reasons that imply a failed lookup of the host's CAA records, too. */
const IMPLY_CAA_FAILURE: ReadonlySet<ReasonCode> = new Set(["dns_unanswered", "zone_lame", "cname_loop"]);

export function withoutImplied(reasons: readonly Reason[]): readonly Reason[] {
  const implied = reasons.some(({ code }) => IMPLY_CAA_FAILURE.has(code));
  return implied ? reasons.filter(({ code }) => code !== "caa_unanswered") : reasons;
}

function formatReason({ code, found, expected, fix }: Reason): readonly string[] {
  return [
    `  ${REASONS[code].title}`,
    `    found     ${found}`,
    `    expected  ${expected}`,
    `    fix       ${fix}`,
  ];
}
