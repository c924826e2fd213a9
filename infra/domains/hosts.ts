import type * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";
import type { StackHost, StackRecord, StackStatus } from "../../lib/domains/status/steps.ts";
import { locateInZone } from "../../lib/domains/zone.ts";
import { API_VERSION_PATH } from "../../lib/http/operations.ts";
import { CustomDomain, type ValidationRecord } from "./custom-domain.ts";
import { goesLive, type HostPlan } from "./host-plan.ts";
import { DNS_PROVIDERS } from "./managed-dns.ts";

/** A host in the stack's outputs, each part as soon as it is known: `store-orders domains check --stack` reads it back. */
export interface DomainOutput
  extends Pick<StackHost, "role" | "dns">,
    Readonly<{ [Part in keyof Omit<StackStatus, "dns">]-?: pulumi.Output<StackStatus[Part]> }> {
  readonly record: Readonly<{ [Part in keyof StackRecord]: pulumi.Input<StackRecord[Part]> }>;
  readonly validationRecord?: pulumi.Output<StackRecord | undefined>;
}

interface CreatedHost {
  readonly plan: HostPlan;
  readonly domain: CustomDomain;
}

/** Creates the domain of every host, one after another: API Gateway creates at most one domain name per 30 seconds. */
export function createHosts(
  name: string,
  hosts: readonly HostPlan[],
  { restApi, stage }: { readonly restApi: aws.apigateway.RestApi; readonly stage: aws.apigateway.Stage },
  parent: pulumi.Resource,
): readonly CreatedHost[] {
  const target = { restApi: restApi.id, stageName: stage.stageName };
  let createAfter: pulumi.Resource | undefined;
  return hosts.map((plan) => {
    const domain = new CustomDomain(`${name}-${plan.key}`, { ...plan, ...target, createAfter }, { parent });
    createAfter = domain.domainName ?? createAfter;
    return { plan, domain };
  });
}

/** The address of the primary host if this update routes traffic to it. */
export function primaryUrl(hosts: readonly HostPlan[], basePath = ""): string | undefined {
  const primary = hosts.find((plan) => plan.role === "primary" && goesLive(plan));
  return primary === undefined ? undefined : urlOf(primary.host, basePath);
}

/** The address of the primary host once it is live, otherwise of the API Gateway hostname. */
export function baseUrl(
  hosts: readonly CreatedHost[],
  { invokeUrl }: aws.apigateway.Stage,
  basePath = "",
): pulumi.Output<string> {
  const platform = pulumi.interpolate`${invokeUrl}${basePath}${API_VERSION_PATH}`;
  const primary = hosts.find(({ plan }) => plan.role === "primary");
  if (primary === undefined) return platform;
  const { plan, domain } = primary;
  const own = urlOf(plan.host, basePath);
  // Known in the preview, too.
  if (goesLive(plan)) return pulumi.output(own);
  return pulumi.all([domain.state, platform]).apply(([now, url]) => (now === "live" ? own : url));
}

function urlOf(host: string, basePath: string): string {
  return `https://${host}${basePath}${API_VERSION_PATH}`;
}

export function domainOutput({ plan, domain }: CreatedHost): DomainOutput {
  const { host, role, dns } = plan;
  const { zone, label, apex } = locateInZone(host, plan.zone === undefined ? [] : [plan.zone]);
  const { target, status } = domain;
  // Describes the record; `CustomDomain` creates it.
  const byHand = { type: apex ? "ALIAS" : "CNAME", ttl: RECORD_TTL_SECONDS };
  const form = dns.provider === "manual" ? byHand : DNS_PROVIDERS[dns.provider].routeOutput;
  const { validationRecord: requested } = domain;
  const validationRecord = requested && { validationRecord: validationOutput(domain, requested, zone) };
  return {
    role,
    dns: dns.provider,
    state: domain.state,
    attention: status.apply(({ attention }) => attention),
    reason: status.reason,
    next: status.next,
    since: status.apply(({ since }) => since),
    until: status.apply(({ until }) => until),
    record: { zone, name: label, ...form, ...(target === undefined ? {} : { value: target }) },
    ...validationRecord,
  };
}

function validationOutput(
  { status, domainName }: CustomDomain,
  { name, value }: ValidationRecord,
  zone: string,
) {
  const record = pulumi.all([name, value]).apply(([full, content]) => {
    const { label } = locateInZone(full, [zone]);
    return { zone, type: "CNAME", name: label, ttl: RECORD_TTL_SECONDS, value: content };
  });
  // With a domain name, a preview may not know the status yet.
  if (domainName !== undefined) return record;
  return pulumi
    .all([status, record])
    .apply(([{ state }, known]) => (state === "needs_attention" ? undefined : known));
}
