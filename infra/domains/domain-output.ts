import type * as pulumi from "@pulumi/pulumi";
import type { DomainState } from "../../lib/domains/lifecycle.ts";
import type { HostRole } from "../../lib/domains/mapping.ts";
import { recordOf } from "../../lib/domains/records.ts";
import type { CustomDomain } from "./custom-domain.ts";
import type { HostPlan } from "./host-plan.ts";

/** A host in the stack's outputs. */
export interface DomainOutput {
  readonly role: HostRole;
  readonly state: pulumi.Output<DomainState>;
  /** The record that routes traffic to the API. Its value is missing until the certificate has been issued. */
  readonly record: {
    readonly type: string;
    /** Relative to the zone; `@` at the apex. */
    readonly name: string;
    readonly ttl: number;
    readonly value?: pulumi.Output<string>;
  };
  /** The ACM validation record, present if it has to be set by hand. Keep it for renewals. */
  readonly validationRecord?: {
    readonly type: string;
    readonly name: pulumi.Output<string>;
    readonly value: pulumi.Output<string>;
  };
}

/** Describes a host for the stack's outputs. */
export function domainOutput(plan: HostPlan, domain: CustomDomain): DomainOutput {
  const { host, role, zone, dns } = plan;
  const { type, name, ttl } = recordOf({ host, role }, "", zone === undefined ? [] : [zone]);
  const { target, validationRecord } = domain;
  // This program creates a CNAME at an apex, too: Cloudflare flattens it.
  const created = dns.provider === "cloudflare" ? "CNAME" : type;
  return {
    role,
    state: domain.state,
    record: { type: created, name, ttl, ...(target === undefined ? {} : { value: target }) },
    ...(dns.provider === "manual" ? { validationRecord } : {}),
  };
}
