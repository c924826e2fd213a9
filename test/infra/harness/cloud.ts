import { domainToUnicode } from "node:url";
import type { CloudflareZone } from "../../../infra/domains/cloudflare.ts";
import type { Cloud } from "./deployment.ts";
import { dnsRecords, type ZoneRecord } from "./dns-records.ts";
import type { Invoke, Registration } from "./engine.ts";
import { type HostedZone, hostedZones, type RecordSet } from "./hosted-zones.ts";
import { physicalName } from "./provider-rules.ts";
import { UNKNOWN, type Value } from "./wire.ts";

/** The state of the cloud that a test sets up. */
export interface World {
  readonly zones?: readonly CloudflareZone[];
  readonly records?: readonly ZoneRecord[];
  readonly hostedZones?: readonly HostedZone[];
  readonly recordSets?: readonly RecordSet[];
  /** True if the provider ignores the filters of queries for DNS records. */
  readonly ignoresFilters?: boolean;
  readonly certificates?: readonly AcmCertificate[];
  /** The provider functions that fail. */
  readonly unavailable?: readonly string[];
  /** By logical name: the error with which a resource cannot be created. */
  readonly failing?: Readonly<Record<string, string>>;
}

export interface AcmCertificate {
  readonly host: string;
  readonly status: string;
  /** @default that of the certificate that the stack has requested last */
  readonly arn?: string;
  /** @default those that are looked for */
  readonly tags?: Value;
}

export function zone(name: string, changes: Partial<CloudflareZone> = {}): CloudflareZone {
  return {
    id: `zone-of-${name}`,
    name,
    status: "active",
    type: "full",
    paused: false,
    nameServers: ["ada.ns.cloudflare.com", "bob.ns.cloudflare.com"],
    ...changes,
  };
}

/** A cloud whose DNS records can be inspected. */
export interface TestCloud extends Cloud {
  /** The DNS records at Cloudflare now. */
  records(): readonly ZoneRecord[];
  /** The record sets at Route 53 now. */
  recordSets(): readonly RecordSet[];
}

/** A cloud in which everything works that the test does not break. */
export function cloud({
  zones = [zone("example.com")],
  records: initialRecords = [],
  hostedZones: zonesAtRoute53 = [],
  recordSets: initialSets = [],
  ignoresFilters = false,
  certificates = [],
  unavailable = [],
  failing = {},
}: World = {}): TestCloud {
  const route53 = hostedZones(zonesAtRoute53, initialSets);
  const functions: Readonly<Record<string, (args: Invoke["args"]) => Readonly<Record<string, Value>>>> = {
    "cloudflare:index/getZones:getZones": ({ name }) => ({
      results: zones
        .map((each) => ({ ...each, name: domainToUnicode(each.name) }))
        .filter((each) => each.name === name),
    }),
    "cloudflare:index/getDnsRecords:getDnsRecords": ({ zoneId = null, ...filter }) => ({
      results: records.find(ignoresFilters ? { zoneId } : { zoneId, ...filter }),
    }),
    "aws:acm/getCertificate:getCertificate": (args) => findCertificate(certificates, args),
    "aws:apigateway/getDomainName:getDomainName": ({ domainName = null }) => {
      const found = domainNames.get(domainName);
      if (found === undefined)
        throw new Error(`reading API Gateway Domain Name (${String(domainName)}): couldn't find resource`);
      return found;
    },
    ...route53.functions,
  };
  const domainNames = new Map<Value, Registration["inputs"]>();
  const setDomainName = (registration: Registration) =>
    domainNames.set(registration.inputs["domainName"] ?? null, {
      ...registration.inputs,
      ...outputsOf(registration),
    });
  const records = dnsRecords(initialRecords);
  return {
    create(registration) {
      const { type, name } = registration;
      const failure = failing[name];
      if (failure !== undefined) throw new Error(failure);
      const id = type === RECORD_SET ? route53.create(registration) : `${name}-id`;
      if (type === DNS_RECORD) records.create(id, registration);
      if (type === "aws:lambda/function:Function") checkEnvironment(registration);
      if (type === DOMAIN_NAME) setDomainName(registration);
      return { id, outputs: outputsOf(registration) };
    },
    import(registration) {
      const { type, importId } = registration;
      const store = { [DNS_RECORD]: records, [RECORD_SET]: route53 }[type];
      if (store === undefined) throw new Error(`The test cloud cannot import ${type}.`);
      return { id: store.read(importId).id, outputs: outputsOf(registration) };
    },
    update(id, registration) {
      if (registration.type === DNS_RECORD) records.update(id, registration);
      if (registration.type === RECORD_SET) route53.update(id, registration);
      if (registration.type === DOMAIN_NAME) setDomainName(registration);
    },
    delete(id, { type, inputs }) {
      if (type === DOMAIN_NAME) domainNames.delete(inputs["domainName"] ?? null);
      if (type === DNS_RECORD) records.delete(id);
      if (type === RECORD_SET) route53.delete(id);
    },
    records: () => records.list(),
    recordSets: () => route53.list(),
    invoke({ token, args }) {
      const call = functions[token];
      if (unavailable.includes(token)) throw new Error("connection refused");
      if (call === undefined) throw new Error(`The test cloud does not implement ${token}.`);
      return call(args);
    },
  };
}

/** Selects a certificate with all tags as the provider does: of several, only the most recent one in the same state. */
function findCertificate(
  certificates: readonly AcmCertificate[],
  { domain, statuses, tags: wantedTags }: Invoke["args"],
): Readonly<Record<string, Value>> {
  const wanted = (statuses ?? ["ISSUED"]) as readonly Value[];
  const hasTags = (tags: Value | undefined) =>
    tags === undefined ||
    Object.entries(wantedTags ?? {}).every(
      ([key, value]) => value === new Map(Object.entries(tags ?? {})).get(key),
    );
  const found = certificates.filter(
    ({ host, status, tags }) => host === domain && wanted.includes(status) && hasTags(tags),
  );
  const [first] = found;
  if (first === undefined) throw new Error(`no ACM Certificate matching domain (${String(domain)})`);
  if (found.some(({ status }) => status !== first.status))
    throw new Error("most_recent filtering on different ACM certificate statuses is not supported");
  return { arn: first.arn ?? arn("acm", `certificate/${first.host}`), status: first.status };
}

/** Lambda measures all environment variables together, as JSON. */
function checkEnvironment({ inputs }: Registration): void {
  const { variables } = inputs["environment"] as { readonly variables: Value };
  if (JSON.stringify(variables).length > 4096)
    throw new Error("the environment variables you have provided exceeded the 4KB limit");
}

const DNS_RECORD = "cloudflare:index/dnsRecord:DnsRecord";
const RECORD_SET = "aws:route53/record:Record";
const DOMAIN_NAME = "aws:apigateway/domainName:DomainName";
const REGION = "eu-central-1";
const ACCOUNT = "123456789012";
const arn = (service: string, rest: string, region = REGION) =>
  `arn:aws:${service}:${region}:${ACCOUNT}:${rest}`;

/** The state that the cloud adds, in its real forms: generated names, ARNs, trailing dots. */
function outputsOf({ type, name, inputs }: Registration): Readonly<Record<string, Value>> {
  const named = physicalName({ type, name, inputs });
  return { name: named, region: REGION, ...STATES[type]?.(named, inputs) };
}

const STATES: Readonly<
  Record<string, (name: string, inputs: Registration["inputs"]) => Readonly<Record<string, Value>>>
> = {
  "aws:dynamodb/table:Table": (name, { streamEnabled }) => ({
    arn: arn("dynamodb", `table/${name}`),
    ...(streamEnabled && { streamArn: arn("dynamodb", `table/${name}/stream/2026-11-23T12:00:00.000`) }),
  }),
  "aws:sqs/queue:Queue": (name) => ({
    arn: arn("sqs", name),
    url: `https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${name}`,
  }),
  "aws:cloudwatch/eventRule:EventRule": (name) => ({ arn: arn("events", `rule/${name}`) }),
  "aws:cloudwatch/logGroup:LogGroup": (name) => ({ arn: arn("logs", `log-group:${name}`) }),
  "aws:iam/role:Role": (name) => ({ arn: arn("iam", `role/${name}`, "") }),
  "aws:sns/topic:Topic": (name) => ({ arn: arn("sns", name) }),
  "aws:lambda/function:Function": (name) => ({
    arn: arn("lambda", `function:${name}`),
    version: "1",
    invokeArn: invocation(arn("lambda", `function:${name}`), "2015-03-31", "invocations"),
    responseStreamingInvokeArn: invocation(
      arn("lambda", `function:${name}`),
      "2021-11-15",
      "response-streaming-invocations",
    ),
  }),
  "aws:lambda/alias:Alias": (name, { functionName }) => {
    const aliasArn = arn("lambda", `function:${String(functionName)}:${name}`);
    return { arn: aliasArn, invokeArn: invocation(aliasArn, "2015-03-31", "invocations") };
  },
  "aws:apigateway/restApi:RestApi": () => ({
    rootResourceId: "root-id",
    executionArn: arn("execute-api", "api123"),
  }),
  "aws:wafv2/webAcl:WebAcl": (name) => ({ arn: arn("wafv2", `regional/webacl/${name}/id`) }),
  "aws:apigateway/stage:Stage": (_name, { stageName }) => ({
    arn: `arn:aws:apigateway:${REGION}::/restapis/api123/stages/${String(stageName)}`,
    invokeUrl: `https://api123.execute-api.${REGION}.amazonaws.com/${String(stageName)}`,
  }),
  "aws:acm/certificate:Certificate": (_name, { domainName }) => ({
    arn: arn("acm", `certificate/${String(domainName)}`),
    domainValidationOptions: [
      {
        domainName: domainName ?? null,
        resourceRecordName: `_0123.${String(domainName)}.`,
        resourceRecordType: "CNAME",
        resourceRecordValue: "_4567.acm-validations.aws.",
      },
    ],
  }),
  "aws:apigateway/domainName:DomainName": (_name, { domainName }) => ({
    regionalDomainName: `d-${String(domainName).replaceAll(".", "")}.execute-api.${REGION}.amazonaws.com`,
    regionalZoneId: "Z1U9ULNL0V5AJ3",
  }),
};

function invocation(functionArn: string, version: string, what: string): string {
  return `arn:aws:apigateway:${REGION}:lambda:path/${version}/functions/${functionArn}/${what}`;
}

/** True if a value contains nothing unknown. */
export function isKnown(value: Value): boolean {
  return !JSON.stringify(value).includes(UNKNOWN);
}
