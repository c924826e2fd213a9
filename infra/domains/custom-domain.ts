import * as aws from "@pulumi/aws";
import { DnsRecord } from "@pulumi/cloudflare/dnsRecord.js";
import * as pulumi from "@pulumi/pulumi";
import type { DomainState } from "../../lib/domains/lifecycle.ts";
import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";
import { typeToken } from "../names.ts";
import { CERTIFICATE_TIMEOUT, certificateChecks } from "./certificate-checks.ts";

/** Where a host's DNS is, and who sets its records. */
export type HostDns =
  | {
      readonly at: "cloudflare";
      readonly zoneId: string;
      /** Stands with every record that is made, so that it is known as ours. */
      readonly comment: string;
      /** `held`: everything but the record that moves the traffic. `adopt`: takes over the record with this id. */
      readonly route: "managed" | "held" | { readonly adopt: string };
    }
  | {
      readonly at: "manual";
      /** True once the certificate has been issued: before that the domain cannot be made. */
      readonly issued: boolean;
    };

/** What a custom domain is made of. */
export interface CustomDomainArgs {
  /** In lower case, punycode, without a trailing dot. */
  readonly host: string;
  readonly dns: HostDns;
  readonly restApi: pulumi.Input<string>;
  readonly stageName: pulumi.Input<string>;
  /** The domain before this one: the platform makes one in 30 seconds. @default none */
  readonly after?: CustomDomain;
  /** Another number asks for another certificate. @default none */
  readonly reverify?: number;
  readonly tags?: Readonly<Record<string, string>>;
}

/** A DNS record that somebody has to set, or that was set. */
export interface ValidationRecord {
  readonly type: "CNAME";
  readonly name: pulumi.Output<string>;
  readonly value: pulumi.Output<string>;
}

/**
 * One host, from certificate to traffic: certificate, validation record, validation, domain name, mapping, and the
 * record that brings the traffic last. Removed in the reverse order, so that no record is left that points nowhere.
 */
export class CustomDomain extends pulumi.ComponentResource {
  readonly certificate: aws.acm.Certificate;
  /** What proves to the certificate authority that the host is ours. It has to stay, for the renewals. */
  readonly validationRecord: ValidationRecord;
  /** Absent while the certificate of a host with DNS elsewhere is waited for. */
  readonly domainName: aws.apigateway.DomainName | undefined;
  /** What the host's record points to. Absent as long as there is no domain name. */
  readonly target: pulumi.Output<string> | undefined;
  readonly state: pulumi.Output<DomainState>;

  readonly #name: string;
  readonly #args: CustomDomainArgs;
  /** The last domain name in the row: this one's own, or that of the one before. */
  readonly #last: aws.apigateway.DomainName | undefined;

  constructor(name: string, args: CustomDomainArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("CustomDomain"), name, {}, options);
    this.#name = name;
    this.#args = args;
    const { dns, after } = args;

    this.certificate = this.#certificate();
    this.validationRecord = validationRecordOf(this.certificate);
    const validation = dns.at === "cloudflare" ? [this.#record("proof", dns, this.validationRecord)] : [];
    const ready = dns.at === "cloudflare" || dns.issued;
    this.domainName = ready ? this.#domainName(this.#validation(validation)) : undefined;
    this.target = this.domainName?.regionalDomainName;
    this.#last = this.domainName ?? (after === undefined ? undefined : after.#last);
    this.state =
      this.domainName === undefined ? pulumi.output("pending_dns" as const) : this.#publish(this.domainName);
    this.registerOutputs({ host: args.host, state: this.state });
  }

  #certificate() {
    const { host, tags = {}, reverify } = this.#args;
    return new aws.acm.Certificate(
      `${this.#name}-certificate`,
      { domainName: host, validationMethod: "DNS", tags },
      { parent: this, ...(reverify === undefined ? {} : { replacementTrigger: reverify }) },
    );
  }

  #validation(dependsOn: pulumi.Resource[]) {
    const { host, reverify = 0 } = this.#args;
    const explain = new pulumi.ErrorHook(`${this.#name}-checks`, async ({ errors }) => {
      // The engine ends with this hook, so what is said has to have arrived before.
      await pulumi.log.error(certificateChecks(host, reverify, errors), this);
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

  #domainName({ certificateArn }: aws.acm.CertificateValidation) {
    const { host, after } = this.#args;
    const previous = after === undefined ? undefined : after.#last;
    return new aws.apigateway.DomainName(
      `${this.#name}-domain`,
      {
        domainName: host,
        regionalCertificateArn: certificateArn,
        endpointConfiguration: { types: "REGIONAL" },
        securityPolicy: "TLS_1_2",
      },
      { parent: this, dependsOn: previous === undefined ? [] : [previous] },
    );
  }

  /** Maps every path of the host to the API; then, and not earlier, sends the traffic there. */
  #publish({ domainName, regionalDomainName }: aws.apigateway.DomainName): pulumi.Output<DomainState> {
    const { host, dns, restApi, stageName } = this.#args;
    // No base path: a host with another mapping beside it could not answer on every path.
    const mapping = new aws.apigateway.BasePathMapping(
      `${this.#name}-mapping`,
      { restApi, stageName, domainName },
      { parent: this },
    );
    if (dns.at === "manual") return mapping.id.apply(() => "live" as const);
    if (dns.route === "held") return mapping.id.apply(() => "pending_dns" as const);
    const adopted = dns.route === "managed" ? {} : { import: `${dns.zoneId}/${dns.route.adopt}` };
    const route = { name: host, value: regionalDomainName };
    // A host has one CNAME at most, so a new one cannot be there before the old one is gone.
    const options = { dependsOn: mapping, deleteBeforeReplace: true, ...adopted };
    return this.#record("route", dns, route, options).id.apply(() => "live" as const);
  }

  #record(
    suffix: string,
    { zoneId, comment }: Extract<HostDns, { at: "cloudflare" }>,
    { name, value }: { readonly name: pulumi.Input<string>; readonly value: pulumi.Input<string> },
    options: pulumi.CustomResourceOptions = {},
  ) {
    return new DnsRecord(
      `${this.#name}-${suffix}`,
      { zoneId, type: "CNAME", name, content: value, ttl: RECORD_TTL_SECONDS, proxied: false, comment },
      { parent: this, ...options },
    );
  }
}

/** A certificate for one host is validated by one record. Trailing dots would come back as a difference every time. */
function validationRecordOf({ domainValidationOptions }: aws.acm.Certificate): ValidationRecord {
  const option = domainValidationOptions.apply(([first]) => {
    if (first === undefined) throw new pulumi.RunError("The certificate has no validation record.");
    return first;
  });
  return {
    type: "CNAME",
    name: option.resourceRecordName.apply(withoutDot),
    value: option.resourceRecordValue.apply(withoutDot),
  };
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, "");
}
