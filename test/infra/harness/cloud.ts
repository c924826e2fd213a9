import type { Cloud, Question, Registration } from "./engine.ts";
import { UNKNOWN, type Value } from "./wire.ts";

/** A zone as Cloudflare lists it. */
export interface Zone {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly type: string;
  readonly paused: boolean;
  readonly nameServers: readonly string[];
}

/** A record as Cloudflare lists it. */
export interface Dns {
  readonly id: string;
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly comment: string;
}

/** What a test decides about the world. */
export interface World {
  readonly zones?: readonly Zone[];
  readonly records?: readonly Dns[];
  /** Hosts whose certificate ACM has issued. */
  readonly issued?: readonly string[];
  /** Names of questions that nobody answers. */
  readonly silent?: readonly string[];
  /** By logical name: why a resource cannot be made. */
  readonly failing?: Readonly<Record<string, string>>;
}

/** A zone that is in order. */
export function zone(name: string, changes: Partial<Zone> = {}): Zone {
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

/** A world in which everything works that a test does not break. */
export function cloud({
  zones = [zone("example.com")],
  records = [],
  issued = [],
  silent = [],
  failing = {},
}: World = {}): Cloud {
  const answers: Readonly<Record<string, (args: Question["args"]) => Readonly<Record<string, Value>>>> = {
    "cloudflare:index/getZones:getZones": ({ name }) => ({
      results: zones.filter((each) => each.name === name).map((each) => ({ ...each })),
    }),
    "cloudflare:index/getDnsRecords:getDnsRecords": ({ zoneId, name }) => ({
      results: records
        .filter((record) => zoneId === `zone-of-${record.zone}` && record.name === exactName(name))
        .map((record) => ({ ...record })),
    }),
    "aws:acm/getCertificate:getCertificate": ({ domain }) => {
      if (!issued.includes(String(domain)))
        throw new Error(`no ACM Certificate matching domain (${String(domain)})`);
      return { arn: `arn:aws:acm:eu-central-1:123456789012:certificate/${String(domain)}`, status: "ISSUED" };
    },
  };
  return {
    made: (registration) => ({ id: `${registration.name}-id`, state: stateOf(registration) }),
    answer(question) {
      const answer = answers[question.token];
      if (silent.includes(question.token)) throw new Error("connection refused");
      if (answer === undefined) throw new Error(`The tests' cloud has no answer to ${question.token}`);
      return answer(question.args);
    },
    fails: ({ name }) => failing[name],
  };
}

function exactName(filter: Value | undefined): Value | undefined {
  return typeof filter === "object" && filter !== null && "exact" in filter ? filter["exact"] : undefined;
}

const REGION = "eu-central-1";
const ACCOUNT = "123456789012";
const arn = (service: string, rest: string, region = REGION) =>
  `arn:aws:${service}:${region}:${ACCOUNT}:${rest}`;

/** What the cloud adds, in the forms that it really gives: the names that Pulumi makes up, ARNs, trailing dots. */
function stateOf({ type, name, inputs }: Registration): Readonly<Record<string, Value>> {
  const own = String(inputs["name"] ?? `${name}-1a2b3c4`);
  const made = STATES[type];
  return { name: own, region: REGION, ...made?.(own, inputs) };
}

const STATES: Readonly<
  Record<string, (name: string, inputs: Registration["inputs"]) => Readonly<Record<string, Value>>>
> = {
  "aws:dynamodb/table:Table": (name) => ({ arn: arn("dynamodb", `table/${name}`) }),
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
    const own = arn("lambda", `function:${String(functionName)}:${name}`);
    return { arn: own, invokeArn: invocation(own, "2015-03-31", "invocations") };
  },
  "aws:apigateway/restApi:RestApi": () => ({
    rootResourceId: "root-id",
    executionArn: arn("execute-api", "api123"),
  }),
  "aws:apigateway/stage:Stage": (_name, { stageName }) => ({
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
  }),
};

function invocation(functionArn: string, version: string, what: string): string {
  return `arn:aws:apigateway:${REGION}:lambda:path/${version}/functions/${functionArn}/${what}`;
}

/** True where nothing in a value is still to come. */
export function isKnown(value: Value): boolean {
  return !JSON.stringify(value).includes(UNKNOWN);
}
