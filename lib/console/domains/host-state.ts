import { html } from "hono/html";
import type { DomainState } from "../../domains/lifecycle.ts";
import type { HostToVerify } from "../../domains/verification/verify-hosts.ts";
import type { Html } from "../section.ts";
import type { CheckedHost } from "./progress.ts";

const STATES: Readonly<Record<DomainState, readonly [level: string, name: string]>> = {
  pending_dns: ["warn", "Waiting for DNS"],
  verified: ["good", "Verified"],
  certificate_pending: ["warn", "Certificate pending"],
  live: ["good", "Live"],
  needs_attention: ["bad", "Needs attention"],
  removed: ["calm", "Removed"],
};

/** The state of a host as a badge. */
export function stateBadge(state: DomainState): Html {
  const [level, name] = STATES[state];
  return html`<span class="badge ${level}">${name}</span>`;
}

/** The state of a host: as this console has verified it, otherwise as its stack said. */
export function hostState({ stack }: HostToVerify, checked: CheckedHost | undefined): Html {
  if (checked !== undefined) {
    const isUnknown = checked.report.state === "unknown" && checked.domain.state !== "live";
    return isUnknown
      ? html`<span class="badge warn">DNS did not answer</span>`
      : stateBadge(checked.domain.state);
  }
  if (stack !== undefined) return stateBadge(stack.state);
  return html`<span class="badge calm">Not verified yet</span>`;
}
