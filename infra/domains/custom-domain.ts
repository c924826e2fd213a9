import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { formatTimestamp } from "../../lib/core/text.ts";
import type { HostRole } from "../../lib/domains/mapping.ts";
import type { HostState } from "../../lib/domains/status/status.ts";
import {
  type CertificateStatus,
  describeHeldHost,
  describeManualHost,
  SERVED,
  type StackStatus,
} from "../../lib/domains/status/steps.ts";
import { verifyHost } from "../../lib/domains/status/verify.ts";
import { claim, hostClaims, providerOf } from "../claims.ts";
import {
  CERTIFICATE_TIMEOUT,
  explainCertificateWait,
  explainExisting,
  explainRecordFailure,
} from "../failures.ts";
import { ownerOf, ownershipTag, REQUESTED_TAG, typeToken } from "../names.ts";
import { wasIssued } from "./certificates.ts";
import { type NewRecord, withoutTrailingDot } from "./dns-provider.ts";
import { domainNameTags } from "./domain-names.ts";
import type { HostDns, ManagedDns, ManualDns } from "./host-plan.ts";
import { DNS_PROVIDERS } from "./managed-dns.ts";

/** Arguments of {@link CustomDomain}. */
export interface CustomDomainArgs {
  /** In lower case, punycode, without a trailing dot. */
  readonly host: string;
  readonly dns: HostDns;
  readonly restApi: pulumi.Input<string>;
  readonly stageName: pulumi.Input<string>;
  /** The domain name to create first: API Gateway creates at most one per 30 seconds. @default none */
  readonly createAfter?: pulumi.Resource | undefined;
  /** Change the number to request a new certificate. @default 0 */
  readonly reverify?: number | undefined;
  readonly tags?: Readonly<Record<string, string>>;
  /** Tells later runs what the host was. @default unknown */
  readonly role?: HostRole;
  readonly redirectTo?: string | undefined;
  /** The ARN of an existing certificate, in the region of the API. @default one is requested and validated */
  readonly certificateArn?: string | undefined;
}

/** The DNS record by which ACM validates the host. */
export interface ValidationRecord {
  /** The full name, without a trailing dot. */
  readonly name: pulumi.Output<string>;
  readonly value: pulumi.Output<string>;
}

/**
 * A host of an API: certificate, validation record, validation, domain name, mapping and, last, the record that routes
 * traffic. They are removed in reverse order, so that no DNS record is left dangling.
 */
export class CustomDomain extends pulumi.ComponentResource {
  /** The certificate that was requested. Missing if the arguments name an existing one. */
  readonly certificate: aws.acm.Certificate | undefined;
  readonly certificateArn: pulumi.Output<string>;
  /** ACM validation record of {@link certificate}; keep it for renewals. */
  readonly validationRecord: ValidationRecord | undefined;
  /** Missing while the certificate of a host with manual DNS has not been issued. */
  readonly domainName?: aws.apigateway.DomainName;
  /** The value of the host's record. Missing while there is no domain name. */
  readonly target: pulumi.Output<string> | undefined;
  readonly status: pulumi.Output<StackStatus>;
  readonly state: pulumi.Output<HostState>;

  readonly #name: string;
  readonly #args: CustomDomainArgs;

  constructor(name: string, args: CustomDomainArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("CustomDomain"), name, {}, options);
    this.#name = name;
    this.#args = args;
    const { dns, certificateArn } = args;
    claim(this, name, hostClaims(name, args, providerOf(this)), options?.parent);

    const certificate = certificateArn === undefined ? this.#requestCertificate() : undefined;
    const validationRecord = certificate && validationRecordOf(certificate);
    this.certificate = certificate;
    // Kept until the one that is requested has been issued: without a certificate, the domain name would be deleted.
    const present =
      dns.provider === "manual" ? dns.certificates.find(({ isForeign }) => isForeign) : undefined;
    this.certificateArn = pulumi.output(present?.arn ?? certificate?.arn ?? certificateArn ?? "");
    this.validationRecord = validationRecord;
    if (certificate && validationRecord && dns.provider === "manual" && !dns.certificates.some(wasIssued)) {
      this.status = this.#manualStatus(dns);
    } else {
      const isRequested = certificate && validationRecord && present === undefined;
      const valid = isRequested ? this.#validate(certificate, validationRecord) : this.certificateArn;
      this.domainName = this.#createDomainName(valid);
      this.status = this.#publish(this.domainName);
    }
    this.target = this.domainName?.regionalDomainName;
    this.state = this.status.state;
    this.registerOutputs({ host: args.host, state: this.state });
  }

  #requestCertificate() {
    const { host, dns, reverify = 0 } = this.#args;
    // Tells later runs when the certificate was requested: ACM waits 72 hours, and no provider function has the time.
    const dated = dns.provider === "manual" ? { [REQUESTED_TAG]: formatTimestamp(Date.now()) } : {};
    const tags = { ...ownershipTag(dns.owner ?? ownerOf({})), ...this.#args.tags, ...dated };
    const certificateArgs = { domainName: host, validationMethod: "DNS", tags };
    const ignoreChanges = Object.keys(dated).map((tag) => `tags["${tag}"]`);
    // The trigger is always set: the engine ignores the change from no trigger to the first one.
    const options = { parent: this, replacementTrigger: reverify, ignoreChanges };
    return new aws.acm.Certificate(`${this.#name}-certificate`, certificateArgs, options);
  }

  /** Waits until the certificate has been issued. Returns its ARN. */
  #validate({ arn }: aws.acm.Certificate, record: ValidationRecord): pulumi.Output<string> {
    const { host, dns, reverify = 0 } = this.#args;
    // Deleted with the host: a record that outlives the state could not be created again with the host.
    const dependsOn =
      dns.provider === "manual" ? [] : [this.#createRecord("validation-record", "validation", dns, record)];
    const { name, value } = record;
    const known = pulumi.output({ host, reverify, dns: dns.provider, validationRecord: { name, value } });
    const hooks = explainCertificateWait(this.#name, known, this);
    const options = { parent: this, dependsOn, customTimeouts: { create: CERTIFICATE_TIMEOUT }, hooks };
    const args = { certificateArn: arn };
    return new aws.acm.CertificateValidation(`${this.#name}-validation`, args, options).certificateArn;
  }

  #createDomainName(certificateArn: pulumi.Output<string>) {
    const { host, createAfter } = this.#args;
    const subject = `The domain name ${host} of API Gateway`;
    const onError = explainExisting(`${this.#name}-domain`, { subject, advice: IMPORT_DOMAIN }, this);
    const domainArgs = {
      domainName: host,
      regionalCertificateArn: certificateArn,
      endpointConfiguration: { types: "REGIONAL" },
      securityPolicy: "TLS_1_2",
      tags: domainNameTags(this.#args),
    };
    const dependsOn = createAfter === undefined ? [] : [createAfter];
    const options = { parent: this, hooks: { onError }, dependsOn };
    return new aws.apigateway.DomainName(`${this.#name}-domain`, domainArgs, options);
  }

  /** Maps every path of the host to the API and then, never before, routes traffic there. */
  #publish(created: aws.apigateway.DomainName): pulumi.Output<StackStatus> {
    const { domainName, regionalDomainName, regionalZoneId } = created;
    const { host, dns, restApi, stageName } = this.#args;
    // No base path: with one, the host would serve only the paths below it.
    const subject = `The mapping of the domain name ${host}`;
    const onError = explainExisting(`${this.#name}-mapping`, { subject, advice: IMPORT_DOMAIN }, this);
    const mappingArgs = { restApi, stageName, domainName };
    const mappingOptions = { parent: this, hooks: { onError } };
    const mapping = new aws.apigateway.BasePathMapping(`${this.#name}-mapping`, mappingArgs, mappingOptions);
    if (dns.provider === "manual") {
      const status = this.#manualStatus(dns, regionalDomainName);
      return pulumi.all([mapping.id, status]).apply(([, reached]) => reached);
    }
    if (dns.routing === "held") return mapping.id.apply(() => describeHeldHost(host));
    const route = { name: host, value: regionalDomainName, targetZoneId: regionalZoneId };
    // A host can have only one such record, so the old one has to be deleted first.
    const options = { dependsOn: mapping, deleteBeforeReplace: true };
    return this.#createRecord("route", "routing", dns, route, options).id.apply(() => SERVED);
  }

  /** The status of a host with manual DNS. If it has a domain name, its record is observed to lead to that target. */
  #manualStatus({ certificates, resolver }: ManualDns, created?: pulumi.Output<string>) {
    const { host, reverify = 0 } = this.#args;
    const { certificate: requested, validationRecord: record } = this;
    const awaited = created === undefined ? requested : undefined;
    const known = [this.certificateArn, created, pulumi.output(record), requested?.arn] as const;
    return pulumi
      .all([...known, awaited?.tags, awaited?.status])
      .apply(async ([arn, target, validationRecord, requestedArn, tags, now]) => {
        // Another certificate may be left from before this one was requested.
        const statusOf = (each?: string) => certificates.find((found) => found.arn === each)?.status;
        // ACM can reject a request at once.
        const own = statusOf(requestedArn) ?? (now as CertificateStatus | undefined);
        // The host is served with the present one meanwhile.
        const isLost = own === "VALIDATION_TIMED_OUT" || own === "FAILED";
        const isPrepared = target !== undefined;
        const seen =
          resolver && !isLost ? await verifyHost(host, { resolver, target, validationRecord }) : undefined;
        const certificate = isLost || !isPrepared ? own : statusOf(arn);
        const requestedAt = tags?.[REQUESTED_TAG];
        return describeManualHost({ host, reverify, isPrepared, certificate, requestedAt, seen });
      });
  }

  #createRecord(
    suffix: string,
    purpose: "routing" | "validation",
    { provider, zoneId, comment, routing }: ManagedDns,
    record: NewRecord,
    options: pulumi.CustomResourceOptions = {},
  ) {
    const { label, takeOver, createRecord } = DNS_PROVIDERS[provider];
    const wayOut = purpose === "routing" ? takeOver : SHARED_VALIDATION.replace("PROVIDER", label);
    const onError = explainRecordFailure(`${this.#name}-${suffix}`, { label, wayOut }, this);
    const adopt = purpose === "routing" && typeof routing === "object" ? routing.adopt : undefined;
    const recordOptions = { parent: this, hooks: { onError }, ...options };
    return createRecord(`${this.#name}-${suffix}`, { zoneId, comment, adopt }, record, recordOptions);
  }
}

const IMPORT_DOMAIN =
  "If it belongs to this stack, or to another tool that is to forget it, import it. If another stack or AWS account serves the host, remove it there first; if another component of this program does, see infra/domains/README.md#move-a-host-to-another-component.";

const SHARED_VALIDATION =
  "If another stack or component keeps it, leave it, and name a certificate of your own under 'certificates'. If not, delete that record at PROVIDER and update again: the stack creates the same one, which validates every certificate of this AWS account for the host.";

/** A certificate for one host has exactly one. A trailing dot would show as a change on every update. */
function validationRecordOf({ domainValidationOptions, status }: aws.acm.Certificate): ValidationRecord {
  // Undefined under mocks.
  const option = pulumi.all([domainValidationOptions, status]).apply(([options, now]) => {
    if (options?.length === 0)
      throw new pulumi.RunError(`ACM returned no validation record for the certificate (status ${now}).`);
    return options?.[0];
  });
  const name = option.apply((known) => withoutTrailingDot(known?.resourceRecordName));
  const value = option.apply((known) => withoutTrailingDot(known?.resourceRecordValue));
  return { name, value };
}
