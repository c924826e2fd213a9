import * as aws from "@pulumi/aws";
import { DnsRecord } from "@pulumi/cloudflare/dnsRecord.js";
import * as pulumi from "@pulumi/pulumi";
import type { DomainState } from "../../lib/domains/lifecycle.ts";
import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";
import { renamedFrom, typeToken } from "../names.ts";
import { CERTIFICATE_TIMEOUT, explainCertificateTimeout } from "./certificate-timeout.ts";
import { explainRecordFailure, type FailedRecord } from "./record-failure.ts";

/** Where the DNS of a host is managed, and who creates its records. */
export type HostDns =
  | {
      readonly provider: "cloudflare";
      readonly zoneId: string;
      /** The comment of every record that is created; marks the record as owned by this program. */
      readonly comment: string;
      /**
       * How the record that routes traffic is handled. `managed`: created last. `held`: not created, everything else
       * is. `adopt`: the record with this identifier is imported.
       */
      readonly routing: "managed" | "held" | { readonly adopt: string };
    }
  | {
      /** The operator sets the records by hand. */
      readonly provider: "manual";
      /** API Gateway accepts a domain name only once its certificate has been issued. */
      readonly certificateIssued: boolean;
    };

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

/** The DNS record by which ACM validates that its owner controls the host. */
export interface ValidationRecord {
  readonly type: "CNAME";
  readonly name: pulumi.Output<string>;
  readonly value: pulumi.Output<string>;
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
  readonly domainName: aws.apigateway.DomainName | undefined;
  /** The value of the host's record. Missing while there is no domain name. */
  readonly target: pulumi.Output<string> | undefined;
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
    const ready = dns.provider === "cloudflare" || dns.certificateIssued;
    this.domainName = ready ? this.#domainName(this.#validation(records), previous) : undefined;
    this.target = this.domainName?.regionalDomainName;
    this.#lastDomainName = this.domainName ?? previous;
    this.state =
      this.domainName === undefined ? pulumi.output("pending_dns" as const) : this.#publish(this.domainName);
    this.registerOutputs({ host: args.host, state: this.state });
  }

  #certificate() {
    const { host, tags = {}, reverify = 0 } = this.#args;
    return new aws.acm.Certificate(
      `${this.#name}-certificate`,
      { domainName: host, validationMethod: "DNS", tags },
      // Always set: the engine ignores the change from no trigger to the first one.
      { parent: this, replacementTrigger: reverify },
    );
  }

  /** Deleted with the host: a record that outlives the state could not be created again with the host. */
  #validationRecord(dns: CloudflareDns) {
    const options = renamedFrom(`${this.#name}-proof`);
    return this.#record("validation-record", "validation", dns, this.validationRecord, options);
  }

  #validation(dependsOn: pulumi.Resource[]) {
    const { host, reverify = 0 } = this.#args;
    const explain = new pulumi.ErrorHook(`${this.#name}-certificate-timeout`, async ({ errors }) => {
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
        hooks: { onError: [explain] },
      },
    );
  }

  #domainName(
    { certificateArn }: aws.acm.CertificateValidation,
    previous: aws.apigateway.DomainName | undefined,
  ) {
    return new aws.apigateway.DomainName(
      `${this.#name}-domain`,
      {
        domainName: this.#args.host,
        regionalCertificateArn: certificateArn,
        endpointConfiguration: { types: "REGIONAL" },
        securityPolicy: "TLS_1_2",
      },
      { parent: this, dependsOn: previous === undefined ? [] : [previous] },
    );
  }

  /** Maps every path of the host to the API and then, never before, routes traffic there. */
  #publish({ domainName, regionalDomainName }: aws.apigateway.DomainName): pulumi.Output<DomainState> {
    const { host, dns, restApi, stageName } = this.#args;
    // No base path: with one, the host would serve only the paths below it.
    const mapping = new aws.apigateway.BasePathMapping(
      `${this.#name}-mapping`,
      { restApi, stageName, domainName },
      { parent: this },
    );
    if (dns.provider === "manual") return mapping.id.apply(() => "live" as const);
    if (dns.routing === "held") return mapping.id.apply(() => "pending_dns" as const);
    const adopted = dns.routing === "managed" ? {} : { import: `${dns.zoneId}/${dns.routing.adopt}` };
    const route = { name: host, value: regionalDomainName };
    // A host can have only one CNAME, so the old one has to be deleted first.
    const options = { dependsOn: mapping, deleteBeforeReplace: true, ...adopted };
    return this.#record("route", "routing", dns, route, options).id.apply(() => "live" as const);
  }

  #record(
    suffix: string,
    kind: FailedRecord["kind"],
    { zoneId, comment }: CloudflareDns,
    { name, value }: { readonly name: pulumi.Input<string>; readonly value: pulumi.Input<string> },
    options: pulumi.CustomResourceOptions,
  ) {
    const explain = new pulumi.ErrorHook(`${this.#name}-${suffix}-failure`, async ({ newInputs, errors }) => {
      const failed = { kind, name: String(newInputs?.["name"]), content: String(newInputs?.["content"]) };
      await pulumi.log.error(explainRecordFailure(failed, errors), this);
      return false;
    });
    return new DnsRecord(
      `${this.#name}-${suffix}`,
      { zoneId, type: "CNAME", name, content: value, ttl: RECORD_TTL_SECONDS, proxied: false, comment },
      { parent: this, hooks: { onError: [explain] }, ...options },
    );
  }
}

type CloudflareDns = Extract<HostDns, { provider: "cloudflare" }>;

/**
 * A certificate for one host has exactly one validation record. A trailing dot would show as a change on every update.
 */
function validationRecordOf({ domainValidationOptions }: aws.acm.Certificate): ValidationRecord {
  const option = domainValidationOptions.apply(([first]) => {
    if (first === undefined)
      throw new pulumi.RunError("ACM returned no validation record for the certificate.");
    return first;
  });
  return {
    type: "CNAME",
    name: option.resourceRecordName.apply(withoutTrailingDot),
    value: option.resourceRecordValue.apply(withoutTrailingDot),
  };
}

function withoutTrailingDot(name: string): string {
  return name.replace(/\.$/, "");
}
