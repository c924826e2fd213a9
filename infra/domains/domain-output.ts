import * as pulumi from "@pulumi/pulumi";
import type { DomainState } from "../../lib/domains/lifecycle.ts";
import type { HostRole } from "../../lib/domains/mapping.ts";
import { RECORD_TTL_SECONDS, recordOf } from "../../lib/domains/records.ts";
import { locateInZone } from "../../lib/domains/zone.ts";
import type { CustomDomain } from "./custom-domain.ts";
import type { HostPlan } from "./host-plan.ts";
import type { HostStatus } from "./host-status.ts";

/** A DNS record in the stack's outputs. */
export interface RecordOutput {
  /** The zone that the record belongs to. */
  readonly zone: string;
  readonly type: string;
  /** Relative to the zone, as providers take it; `@` at the apex. */
  readonly name: string;
  readonly ttl: number;
  /** Missing until it is known. */
  readonly value?: pulumi.Input<string>;
}

/** A host in the stack's outputs. */
export interface DomainOutput {
  readonly role: HostRole;
  readonly state: pulumi.Output<DomainState>;
  /** Present only in the state `needs_attention`. */
  readonly attention: pulumi.Output<HostStatus["attention"]>;
  /** Why the host is in this state. */
  readonly reason: pulumi.Output<string>;
  /** What to do, one step per entry. */
  readonly next: pulumi.Output<readonly string[]>;
  /** When the certificate that is awaited was requested, and when ACM gives up on it. */
  readonly since: pulumi.Output<string | undefined>;
  readonly until: pulumi.Output<string | undefined>;
  /** The record that routes traffic to the API. Its value is missing until the certificate has been issued. */
  readonly record: RecordOutput;
  /**
   * The ACM validation record, if it has to be set by hand. Keep it for renewals. Missing if ACM has given up on the
   * certificate that it validates.
   */
  readonly validationRecord?: pulumi.Output<RecordOutput | undefined>;
}

/** Describes a host for the stack's outputs. */
export function domainOutput(plan: HostPlan, domain: CustomDomain): DomainOutput {
  const { host, role, dns } = plan;
  const knownZones = plan.zone === undefined ? [] : [plan.zone];
  const { zone, type, name, ttl } = recordOf({ host, role }, "", knownZones);
  const { target, status } = domain;
  // This program creates a CNAME at an apex, too: Cloudflare flattens it.
  const created = dns.provider === "cloudflare" ? "CNAME" : type;
  const validationRecord =
    dns.provider === "manual" ? { validationRecord: validationOutput(domain, zone) } : {};
  return {
    role,
    state: domain.state,
    attention: status.apply(({ attention }) => attention),
    reason: status.reason,
    next: status.next,
    since: status.apply(({ since }) => since),
    until: status.apply(({ until }) => until),
    record: { zone, type: created, name, ttl, ...(target === undefined ? {} : { value: target }) },
    ...validationRecord,
  };
}

function validationOutput({ status, validationRecord, domainName }: CustomDomain, zone: string) {
  const { type, name, value } = validationRecord;
  return pulumi.all([status, name, value]).apply(([{ state }, full, content]) => {
    if (domainName === undefined && state === "needs_attention") return undefined;
    return { zone, type, name: locateInZone(full, [zone]).label, ttl: RECORD_TTL_SECONDS, value: content };
  });
}
