import * as pulumi from "@pulumi/pulumi";
import type { Settings } from "../config/settings.ts";
import { ownershipComment, ownershipTag } from "../names.ts";
import { findZones } from "./cloudflare-check.ts";
import { configuredHosts, type HostPlan, isHeld, planHosts } from "./host-plan.ts";
import { findHostsWithCertificate } from "./issued-certificates.ts";

/**
 * Checks DNS and existing certificates before anything is created, in preview too, and plans the hosts.
 *
 * @throws {pulumi.RunError} if the DNS of a host is not ready; lists every problem with its fix
 */
export async function preflight(settings: Settings): Promise<readonly HostPlan[]> {
  const stack = [pulumi.getProject(), pulumi.getStack()] as const;
  const comment = ownershipComment(...stack);
  const hosts = configuredHosts(settings).map(({ host }) => host);
  if (settings.dns === "manual") {
    const withCertificate = await findHostsWithCertificate(hosts, ownershipTag(...stack));
    return planHosts(settings, { zones: new Map(), withCertificate }, comment);
  }
  const toCheck = hosts.map((host) => {
    const adopt = settings.adopt[host];
    return { host, held: isHeld(settings, host), ...(adopt === undefined ? {} : { adopt }) };
  });
  const zones = await findZones(toCheck, comment);
  return planHosts(settings, { zones, withCertificate: new Set() }, comment);
}
