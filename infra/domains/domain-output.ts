import type * as pulumi from "@pulumi/pulumi";
import type { DomainState } from "../../lib/domains/lifecycle.ts";
import type { HostRole } from "../../lib/domains/mapping.ts";
import { recordOf } from "../../lib/domains/records.ts";
import type { CustomDomain } from "./custom-domain.ts";
import type { HostPlan } from "./host-plan.ts";

/** What the stack tells about a host. */
export interface DomainOutput {
  readonly role: HostRole;
  readonly state: pulumi.Output<DomainState>;
  /** The record that brings the traffic. Without a value until the certificate has been issued. */
  readonly record: {
    readonly type: string;
    /** The label or labels below the zone, `@` at the apex. */
    readonly name: string;
    readonly ttl: number;
    readonly value?: pulumi.Output<string>;
  };
  /** The record that proves the host is ours, where it has to be set by hand. It has to stay, for the renewals. */
  readonly validationRecord?: {
    readonly type: string;
    readonly name: pulumi.Output<string>;
    readonly value: pulumi.Output<string>;
  };
}

/** Puts together what a host needs and how far it has come. */
export function domainOutput(plan: HostPlan, domain: CustomDomain): DomainOutput {
  const { host, role, zone, dns } = plan;
  const { type, name, ttl } = recordOf({ host, role }, "", zone === undefined ? [] : [zone]);
  const { target, validationRecord } = domain;
  return {
    role,
    state: domain.state,
    record: { type, name, ttl, ...(target === undefined ? {} : { value: target }) },
    ...(dns.at === "manual" ? { validationRecord } : {}),
  };
}
