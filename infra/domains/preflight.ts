import * as pulumi from "@pulumi/pulumi";
import type { Settings } from "../config/settings.ts";
import { ownershipComment } from "../names.ts";
import { ownershipTag } from "../store-orders.ts";
import { findZones } from "./cloudflare-check.ts";
import { configuredHosts, type HostPlan, isHeld, planHosts } from "./host-plan.ts";
import { findHostsWithCertificate } from "./issued-certificates.ts";

/** Asks what has to be known about the hosts before anything is made, and plans them. Stops where DNS is not ready. */
export async function preflight(settings: Settings): Promise<readonly HostPlan[]> {
  const hosts = configuredHosts(settings).map(({ host }) => ({ host, held: isHeld(settings, host) }));
  const mark = ownershipComment(pulumi.getProject(), pulumi.getStack());
  const byHand = settings.dns === "manual";
  const zones = byHand ? new Map() : await findZones(hosts, mark);
  const issued = byHand
    ? await findHostsWithCertificate(
        hosts.map(({ host }) => host),
        ownershipTag(),
      )
    : new Set<string>();
  return planHosts(settings, { zones, issued }, mark);
}
