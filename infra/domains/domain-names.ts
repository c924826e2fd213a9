import type * as pulumi from "@pulumi/pulumi";
import type { ConfiguredHost } from "../../lib/domains/mapping.ts";
import type { Settings } from "../config/settings.ts";
import { type Owner, ownerOf } from "../names.ts";
import { findDomainName } from "./certificates.ts";
import { goesLive, type HostPlan } from "./host-plan.ts";

/** The tag of a domain name that names the stack which keeps its host's records. Missing if DNS is managed elsewhere. */
const RECORDS_TAG = "store-orders:records";
/** The tag of a domain name that has the role of its host, of a redirect also the primary host. */
const ROLE_TAG = "store-orders:role";

/** The tags by which the next preflight, which cannot read Pulumi's state, knows what this update makes of a host. */
export function domainNameTags({ role, redirectTo, dns }: Partial<HostPlan> & Pick<HostPlan, "dns">) {
  const { project, stack } = dns.owner ?? ownerOf({});
  return {
    ...(role && { [ROLE_TAG]: redirectTo ? roleOfRedirect(redirectTo) : role }),
    ...(goesLive({ dns }) && { [RECORDS_TAG]: `${project}/${stack}` }),
  };
}

const roleOfRedirect = (primary: string) => `redirect ${primary}`;

/** Describes every host that loses the records that this stack keeps, because DNS is managed elsewhere from now on. */
export async function findKeptRecords(
  hosts: readonly ConfiguredHost[],
  losesRecords: (host: string) => Promise<boolean>,
  { project, stack }: Owner,
  { dns, ...options }: pulumi.InvokeOptions & Pick<Settings, "dns">,
): Promise<readonly string[]> {
  const steps = dns === "route53" ? "hosts-at-route-53" : "change-to-manual-dns";
  const found = hosts.map(async ({ host }) => {
    if (!(await losesRecords(host))) return [];
    const keeper = (await findDomainName(host, options))?.tags?.[RECORDS_TAG];
    const problem = `${host}: this stack keeps its records, and would delete them with 'dns: ${dns}'. Set 'dns' back, or follow infra/domains/README.md#${steps}.`;
    return keeper === `${project}/${stack}` ? [problem] : [];
  });
  return (await Promise.all(found)).flat();
}

/**
 * Describes every live host that would become a redirect to a primary that is not live. Only a warning if it may be one already,
 * because an earlier version has left no tag; or if an operator sets the records, in any order.
 */
export async function findEarlyRedirects(
  [primary, ...others]: readonly ConfiguredHost[],
  mayBeLive: (host: string) => Promise<boolean>,
  { isManual, ...options }: pulumi.InvokeOptions & { readonly isManual: boolean },
) {
  const [problems, warnings]: [string[], string[]] = [[], []];
  const redirects = others.filter(({ role }) => role === "redirect");
  if (primary === undefined || redirects.length === 0 || (await mayBeLive(primary.host)))
    return { problems, warnings };
  const checks = redirects.map(async ({ host }) => {
    const planned = roleOfRedirect(primary.host);
    const role = (await mayBeLive(host)) ? (await findDomainName(host, options))?.tags?.[ROLE_TAG] : planned;
    const message = `${host}: it serves now, and would redirect to ${primary.host}, which is not live. Make that one an alias first, without 'hold'. Make it the primary, and ${host} a redirect to it, in an update after it is live.`;
    // Without where it leads: the tag of an earlier version.
    const isUnknown = role === undefined || role === "redirect";
    if (role !== planned) (isManual || isUnknown ? warnings : problems).push(message);
  });
  await Promise.all(checks);
  return { problems, warnings };
}
