import { PROPAGATION } from "./advice.ts";
import { REASONS, type Reason } from "./reasons.ts";
import type { HostReport } from "./verify-hosts.ts";

/** Writes the reports on many hosts for people: per host its state, what was found, what is expected, what to do. */
export function formatReport(reports: readonly HostReport[]): string {
  const verified = reports.filter(({ state }) => state === "verified").length;
  const count = `${verified} of ${reports.length} ${reports.length === 1 ? "host" : "hosts"} verified.`;
  const last = verified === reports.length ? count : `${count} ${PROPAGATION}`;
  return printable(`${[...reports.map(hostText), last].join("\n\n")}\n`);
}

const MARKS = { verified: "✓", pending_dns: "✗", needs_attention: "✗", unknown: "?" } as const;

function hostText({ host, role, state, record, reasons }: HostReport): string {
  const head = `${MARKS[state]} ${host}  ${state}  (${role})`;
  if (reasons.length > 0) return [head, ...toldReasons(reasons).map(reasonText)].join("\n");
  return `${head}\n    ${record.type} ${record.value}, and the certificate authority may issue`;
}

/** Where the host itself is not answered for, it goes without saying that its CAA records are not either. */
function toldReasons(reasons: readonly Reason[]): readonly Reason[] {
  const silent = reasons.some(({ code }) => ["dns_silent", "zone_lame", "cname_loop"].includes(code));
  return silent ? reasons.filter(({ code }) => code !== "caa_silent") : reasons;
}

function reasonText({ code, found, expected, fix }: Reason): string {
  return [
    `  ${REASONS[code].title}`,
    `    found     ${found}`,
    `    expected  ${expected}`,
    `    to do     ${fix}`,
  ].join("\n");
}

/** What DNS says may be anybody's words, so nothing in it can move the reader's terminal. */
function printable(text: string): string {
  return text.replace(/[^\P{C}\n]/gu, "?");
}
