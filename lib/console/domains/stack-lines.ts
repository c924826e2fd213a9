import {
  type ConfiguredHost,
  type DomainMapping,
  type DomainsInput,
  type HostRole,
  hostsOf,
} from "../../domains/mapping.ts";
import { type ParsedDomains, parseDomains } from "../../domains/parse.ts";
import type { DomainChange } from "./edit-document.ts";

/** The lines for the stack file, or what is wrong with the change. */
export type StackLines =
  | { readonly ok: true; readonly lines: string; readonly domains: DomainMapping }
  | Extract<ParsedDomains, { ok: false }>;

/** Returns what `store-orders:domains` of the stack file must be after a change of the hosts. Pure. */
export function stackLines(hosts: readonly ConfiguredHost[], change: DomainChange): StackLines {
  const others = hosts.filter(({ host }) => change.kind === "add" || host !== change.host);
  const changed = change.kind === "remove" ? others : [...others, { host: change.host, role: change.role }];
  const parsed = parseDomains(toInput(changed), { plan: "pro" });
  return parsed.ok ? { ok: true, lines: toLines(parsed.domains), domains: parsed.domains } : parsed;
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
function toLines(domains: DomainMapping): string {
  if (hostsOf(domains).length === 0) return "config:\n  store-orders:domains: {}";
  const { primary, aliases, redirects } = domains;
  const lines = [`primary: ${primary}`];
  if (aliases.length > 0) lines.push(`aliases: [${aliases.join(", ")}]`);
  if (redirects.length > 0) lines.push("redirects:");
  for (const { from, to, status } of redirects)
    lines.push(`  - { from: ${from}, to: ${to}, status: ${status} }`);
  return ["config:", "  store-orders:domains:", ...lines.map((line) => `    ${line}`)].join("\n");
}
