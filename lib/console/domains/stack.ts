/** The domains of a stack: their state, and the lines of the stack file that change them. */
import { html } from "hono/html";
import type { ConfiguredHost, DomainMapping, DomainsInput, HostRole } from "../../domains/mapping.ts";
import { type ParsedDomains, parseDomains } from "../../domains/parse.ts";
import type { StackStatus } from "../../domains/verification/report.ts";
import type { HostToVerify } from "../../domains/verification/verify.ts";
import { formatInstant, type Html, panel } from "../page.ts";
import { type DomainChange, hostsAfter } from "./domains-file.ts";
import { stateBadge, stepList } from "./verification.ts";

/** A host's state in the last update of the stack. */
export function stackStatusPanel({ state, reason, next, since, until }: StackStatus): Html {
  const facts = html`<dl class="facts">
    <dt>State</dt><dd>${stateBadge(state)}</dd>
    <dt>Reason</dt><dd>${reason}</dd>
    ${since === undefined ? "" : html`<dt>Requested</dt><dd class="number">${formatInstant(Date.parse(since))}</dd>`}
    ${until === undefined ? "" : html`<dt>ACM waits until</dt><dd class="number">${formatInstant(Date.parse(until))}</dd>`}
  </dl>`;
  const steps = next.length === 0 ? "" : html`<h3>Next</h3>${stepList(next)}`;
  return panel("stack", "In the stack's last update", html`${facts}${steps}`);
}

/** The lines that remove a host from the stack. */
export function stackRemoval({ host }: HostToVerify, hosts: readonly HostToVerify[]): Html {
  const result = createStackFileSnippet(hosts, { kind: "remove", host });
  // Only the primary of others cannot be removed.
  const reason = html`<p>Make another domain the primary first.</p>`;
  return panel(
    "removal",
    "Remove this domain",
    result.ok ? linesToCopy(result.lines, "stack-removal") : reason,
  );
}

/** The lines that add a host to the stack, if the rules of domains permit it. */
export function stackAddition(hosts: readonly HostToVerify[], host: string, role: HostRole): Html | "" {
  const result = createStackFileSnippet(hosts, { kind: "add", host, role });
  return result.ok ? linesToCopy(result.lines, "stack-addition") : "";
}

function linesToCopy(lines: string, id: string): Html {
  return html`<p>In <code>Pulumi.&lt;stack&gt;.yaml</code>, make <code>store-orders:domains</code> as follows, and keep the other
      lines under <code>config</code>. Then run <code>npx pulumi preview</code> and <code>npx pulumi up</code>.</p>
    <pre id="${id}" tabindex="0" role="region" aria-label="Lines for the stack file">${lines}</pre>
    <div><button type="button" data-copy="${id}">Copy lines</button></div>`;
}

/** Returns `store-orders:domains` of the stack file after a change of the hosts, or the problems of the change. Pure. */
export function createStackFileSnippet(
  hosts: readonly ConfiguredHost[],
  change: DomainChange,
): { readonly ok: true; readonly lines: string } | Extract<ParsedDomains, { ok: false }> {
  const parsed = parseDomains(toInput(hostsAfter(hosts, change)), { plan: "pro" });
  return parsed.ok ? { ok: true, lines: toLines(parsed.domains) } : parsed;
}

function toInput(hosts: readonly ConfiguredHost[]): DomainsInput {
  const named = (role: HostRole) => hosts.filter((each) => each.role === role).map(({ host }) => host);
  const [aliases, redirects, [primary]] = [named("alias"), named("redirect"), named("primary")];
  return {
    ...(primary === undefined ? {} : { primary }),
    aliases,
    redirects: redirects.map((from) => ({ from, to: primary ?? from })),
  };
}

/** The lines of a mapping with their place in the stack file, in the form of the documentation. */
function toLines({ primary, aliases, redirects }: DomainMapping): string {
  if (primary === undefined) return "config:\n  store-orders:domains: {}";
  const lines = [`primary: ${primary}`];
  if (aliases.length > 0) lines.push(`aliases: [${aliases.join(", ")}]`);
  if (redirects.length > 0) lines.push("redirects:");
  for (const { from, to, status } of redirects)
    lines.push(`  - { from: ${from}, to: ${to}, status: ${status} }`);
  return ["config:", "  store-orders:domains:", ...lines.map((line) => `    ${line}`)].join("\n");
}
