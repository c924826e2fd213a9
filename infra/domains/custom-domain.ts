import * as aws from "@pulumi/aws";
import { DnsRecord } from "@pulumi/cloudflare/dnsRecord.js";
import * as pulumi from "@pulumi/pulumi";
import type { DomainState } from "../../lib/domains/lifecycle.ts";
import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";
import { formatTime } from "../../lib/domains/watch/format.ts";
import { explainOnError } from "../error-hook.ts";
import { explainExisting } from "../existing-resource.ts";
import { REQUESTED_TAG, renamedFrom, typeToken } from "../names.ts";
import { CERTIFICATE_TIMEOUT, explainCertificateTimeout } from "./certificate-timeout.ts";
import { wasIssued } from "./certificates.ts";
import type { CloudflareDns, HostDns, ManualDns } from "./host-dns.ts";
import { describeHeldHost, type HostStatus, SERVED } from "./host-status.ts";
import { type ManualHost, statusBeforeDomain, statusWithDomain } from "./manual-status.ts";
import { explainRecordFailure, type FailedRecord } from "./record-failure.ts";
import { type ValidationRecord, validationRecordOf } from "./validation-record.ts";

/** Arguments of {@link CustomDomain}. */
export interface CustomDomainArgs {
  /** In lower case, punycode, without a trailing dot. */
  readonly host: string;
  readonly dns: HostDns;
  readonly restApi: pulumi.Input<string>;
  readonly stageName: pulumi.Input<string>;
  /** The domain to create first: API Gateway creates at most one domain name per 30 seconds. @default none */
  readonly createAfter?: CustomDomain;
  /** Change the number to request a new certificate. @default 0 */
  readonly reverify?: number;
  readonly tags?: Readonly<Record<string, string>>;
}

/**
 * A host of an API: certificate, validation record, validation, domain name, mapping and, last, the record that routes
 * traffic. They are removed in reverse order, so that no DNS record is left dangling.
 */
export class CustomDomain extends pulumi.ComponentResource {
  readonly certificate: aws.acm.Certificate;
  /** ACM validation record; keep it for renewals. */
  readonly validationRecord: ValidationRecord;
  /** Missing while the certificate of a host with manual DNS has not been issued. */
  readonly domainName?: aws.apigateway.DomainName;
  /** The value of the host's record. Missing while there is no domain name. */
  readonly target: pulumi.Output<string> | undefined;
  /** The state in the lifecycle, why, and what to do next. */
  readonly status: pulumi.Output<HostStatus>;
  readonly state: pulumi.Output<DomainState>;

  readonly #name: string;
  readonly #args: CustomDomainArgs;
  /** The domain name that the next domain waits for: this domain's own, or the one that this domain waits for. */
  readonly #lastDomainName: aws.apigateway.DomainName | undefined;

  constructor(name: string, args: CustomDomainArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("CustomDomain"), name, {}, options);
    this.#name = name;
    this.#args = args;
    const { dns, createAfter } = args;
    const previous = createAfter === undefined ? undefined : createAfter.#lastDomainName;

    this.certificate = this.#certificate();
    this.validationRecord = validationRecordOf(this.certificate);
    const records = dns.provider === "cloudflare" ? [this.#validationRecord(dns)] : [];
    if (dns.provider === "manual" && !dns.certificates.some(wasIssued)) {
      this.status = statusBeforeDomain(this.#manualHost(dns));
    } else {
      this.domainName = this.#domainName(this.#validation(records), previous);
      this.status = this.#publish(this.domainName);
    }
    this.target = this.domainName?.regionalDomainName;
    this.#lastDomainName = this.domainName ?? previous;
    this.state = this.status.state;
    this.registerOutputs({ host: args.host, state: this.state });
  }

  #certificate() {
    const { host, dns, tags = {}, reverify = 0 } = this.#args;
    // Tells later runs when the certificate was requested: ACM waits 72 hours, and no provider function has the time.
    const dated = dns.provider === "manual" ? { [REQUESTED_TAG]: formatTime(Date.now()) } : {};
    return new aws.acm.Certificate(
      `${this.#name}-certificate`,
      { domainName: host, validationMethod: "DNS", tags: { ...tags, ...dated } },
      {
        parent: this,
        // Always set: the engine ignores the change from no trigger to the first one.
        replacementTrigger: reverify,
        ignoreChanges: Object.keys(dated).map((tag) => `tags["${tag}"]`),
      },
    );
  }

  /** Deleted with the host: a record that outlives the state could not be created again with the host. */
  #validationRecord(dns: CloudflareDns) {
    const options = renamedFrom(`${this.#name}-proof`);
    return this.#record("validation-record", "validation", dns, this.validationRecord, options);
  }

  #validation(dependsOn: pulumi.Resource[]) {
    const { host, reverify = 0 } = this.#args;
    const onError = explainOnError(`${this.#name}-certificate-timeout`, async ({ errors }) => {
      // The engine stops the program after this hook, so the log call must complete first.
      await pulumi.log.error(explainCertificateTimeout(host, reverify, errors), this);
      return false;
    });
    return new aws.acm.CertificateValidation(
      `${this.#name}-validation`,
      { certificateArn: this.certificate.arn },
      {
        parent: this,
        dependsOn,
        customTimeouts: { create: CERTIFICATE_TIMEOUT },
        hooks: { onError },
      },
    );
  }

  #domainName(
    { certificateArn }: aws.acm.CertificateValidation,
    previous: aws.apigateway.DomainName | undefined,
  ) {
    const { host } = this.#args;
    const what = `The domain name ${host} of API Gateway`;
    const onError = explainExisting(`${this.#name}-domain`, { what, advice: IMPORT_DOMAIN }, this);
    return new aws.apigateway.DomainName(
      `${this.#name}-domain`,
      {
        domainName: host,
        regionalCertificateArn: certificateArn,
        endpointConfiguration: { types: "REGIONAL" },
        securityPolicy: "TLS_1_2",
      },
      { parent: this, hooks: { onError }, dependsOn: previous === undefined ? [] : [previous] },
    );
  }

  /** Maps every path of the host to the API and then, never before, routes traffic there. */
  #publish({ domainName, regionalDomainName }: aws.apigateway.DomainName): pulumi.Output<HostStatus> {
    const { host, dns, restApi, stageName } = this.#args;
    // No base path: with one, the host would serve only the paths below it.
    const what = `The mapping of the domain name ${host}`;
    const onError = explainExisting(`${this.#name}-mapping`, { what, advice: IMPORT_DOMAIN }, this);
    const mapping = new aws.apigateway.BasePathMapping(
      `${this.#name}-mapping`,
      { restApi, stageName, domainName },
      { parent: this, hooks: { onError } },
    );
    if (dns.provider === "manual") {
      const status = statusWithDomain(this.#manualHost(dns), regionalDomainName);
      return pulumi.all([mapping.id, status]).apply(([, reached]) => reached);
    }
    if (dns.routing === "held") return mapping.id.apply(() => describeHeldHost(host));
    const adopted = dns.routing === "managed" ? {} : { import: `${dns.zoneId}/${dns.routing.adopt}` };
    const route = { name: host, value: regionalDomainName };
    // A host can have only one CNAME, so the old one has to be deleted first.
    const options = { dependsOn: mapping, deleteBeforeReplace: true, ...adopted };
    return this.#record("route", "routing", dns, route, options).id.apply(() => SERVED);
  }

  #manualHost(dns: ManualDns): ManualHost {
    const { host, reverify = 0 } = this.#args;
    return { host, reverify, dns, certificate: this.certificate, validationRecord: this.validationRecord };
  }

  #record(
    suffix: string,
    kind: FailedRecord["kind"],
    { zoneId, comment }: CloudflareDns,
    { name, value }: { readonly name: pulumi.Input<string>; readonly value: pulumi.Input<string> },
    options: pulumi.CustomResourceOptions,
  ) {
    const onError = explainOnError(`${this.#name}-${suffix}-failure`, async ({ newInputs, errors }) => {
      const failed = { kind, name: String(newInputs?.["name"]), content: String(newInputs?.["content"]) };
      await pulumi.log.error(explainRecordFailure(failed, errors), this);
      return false;
    });
    return new DnsRecord(
      `${this.#name}-${suffix}`,
      { zoneId, type: "CNAME", name, content: value, ttl: RECORD_TTL_SECONDS, proxied: false, comment },
      { parent: this, hooks: { onError }, ...options },
    );
  }
}

const IMPORT_DOMAIN =
  "If it belongs to this stack, import it. If another stack or AWS account serves the host, remove it there first.";
