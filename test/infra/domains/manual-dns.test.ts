import { Readable } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";
import { readStackDomains } from "../../../lib/cli/stack-outputs.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { type AcmCertificate, cloud } from "../harness/cloud.ts";
import { find, type Outcome, ofType, operationOn } from "../harness/program.ts";
import { closed, domainNames, messages, success, update, withDomains } from "../harness/scenario.ts";

const HOST = "orders.example.org";
/** Hosts in other states than the primary. */
const [OBSERVED, LATE, AGAIN, SILENT] = ["observed", "late", "again", "silent"].map(
  (name) => `${name}.example.org`,
) as [string, string, string, string];
const TARGET = "d-ordersexampleorg.execute-api.eu-central-1.amazonaws.com";
const PLATFORM_URL = "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1";
const CERTIFICATE = "aws:acm/certificate:Certificate";
const RECORD = { zone: "example.org", type: "CNAME", ttl: 3600 };
const recordOf = (name: string) => ({ ...RECORD, name });
const validationOf = (name: string) => ({
  ...{ ...RECORD, name: `_0123.${name}`, value: "_4567.acm-validations.aws" },
});
const certificateOf = (host: string) => `store-orders-production-${host.replaceAll(".", "-")}-certificate`;

const emptyDns = await startDnsServer("");
const validatedDns = await startDnsServer(`
  _0123.${HOST} CNAME _4567.acm-validations.aws
  _0123.${OBSERVED} CNAME _4567.acm-validations.aws
`);
const liveDns = await startDnsServer(
  `
    _0123.${HOST} CNAME _4567.acm-validations.aws
    ${HOST} CNAME ${TARGET}
    ${TARGET} A 192.0.2.1
    example.org NS ns.example.net
  `,
  { [SILENT]: "SERVFAIL" },
);
afterAll(async () => {
  for (const server of [emptyDns, validatedDns, liveDns]) await server[Symbol.asyncDispose]();
});

const domains = { primary: HOST, aliases: [OBSERVED, LATE, AGAIN, SILENT] };
const config = withDomains(domains, { "store-orders:dns": "manual" });
const next = (run: Promise<Outcome>, dns: typeof emptyDns, certificates: readonly AcmCertificate[]) =>
  run.then(({ state }) => {
    const again = { ...config, "store-orders:reverify": { [AGAIN]: 1 } };
    return update(again, { cloud: cloud({ certificates }), state, dns });
  });
const others: readonly AcmCertificate[] = [
  { host: OBSERVED, status: "PENDING_VALIDATION" },
  { host: LATE, status: "VALIDATION_TIMED_OUT" },
  { host: AGAIN, status: "VALIDATION_TIMED_OUT", arn: "the certificate before" },
  { host: SILENT, status: "ISSUED" },
];

const first = update(config, { dns: emptyDns });
const issued = next(first, validatedDns, [...others, { host: HOST, status: "ISSUED" }]);
const live = next(issued, liveDns, [
  ...others,
  { host: HOST, status: "PENDING_VALIDATION", arn: "the certificate after" },
  { host: HOST, status: "ISSUED" },
]);

const hostOf = ({ stackOutputs }: Outcome, host = HOST) =>
  (stackOutputs["domains"] as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[host] ?? {};

describe("with DNS managed elsewhere", () => {
  test("the first update requests the certificate, outputs the validation record with its deadline, and does not wait", async () => {
    const outcome = await success(first);
    expect(domainNames(outcome)).toEqual([]);
    expect(ofType(outcome, "aws:acm/certificateValidation:CertificateValidation")).toEqual([]);
    expect(outcome.registrations.some(({ type }) => type.startsWith("cloudflare:"))).toBe(false);
    const { since, until, ...host } = hostOf(outcome);
    expect(Date.parse(String(until)) - Date.parse(String(since))).toBe(72 * 3_600_000);
    expect(host).toEqual({
      ...{ role: "primary", dns: "manual" },
      state: "pending_dns",
      reason: `ACM waits for the validation record since ${String(since)}. It stops 72 hours after the request, at ${String(until)}.`,
      next: [
        "Set the validationRecord at the DNS provider, and keep it: renewals need it. DNS changes may take up to 48 hours to propagate.",
        "At the DNS provider of example.org, add the CNAME record: name _0123.orders, value _4567.acm-validations.aws, TTL 3600. If the record is there already, it is hidden from DNS. Switch off what proxies or flattens this record.",
        "Update again once ACM has issued the certificate: the outputs then have the host's record.",
      ],
      record: recordOf("orders"),
      validationRecord: validationOf("orders"),
    });
    expect(outcome.stackOutputs["baseUrl"]).toBe(PLATFORM_URL);
  });

  test("an observed validation record is reported, and the time of the request does not change", async () => {
    const outcome = await success(issued);
    expect(operationOn(outcome, CERTIFICATE, certificateOf(OBSERVED))).toBe("same");
    const host = hostOf(outcome, OBSERVED);
    expect(host).toMatchObject({ state: "certificate_pending", validationRecord: validationOf("observed") });
    expect(host["since"]).toBe(hostOf(await first, OBSERVED)["since"]);
    expect(host["reason"]).toMatch(/^The validation record is set\. .* since \d{4}-.*Z; ACM issues it/);
  });

  test("a certificate that ACM has given up on needs attention, and its validation record is not shown any more", async () => {
    expect(hostOf(await success(issued), LATE)).toEqual({
      ...{ role: "alias", dns: "manual" },
      state: "needs_attention",
      attention: "validation_timed_out",
      reason: "ACM gave up, because it did not find the validation record within 72 hours of the request.",
      next: [
        "Request a new certificate: set store-orders:reverify to { late.example.org: 1 } and update.",
        "Then set the validationRecord in the outputs at the DNS provider.",
      ],
      record: recordOf("late"),
    });
  });

  test("a certificate that was requested again is awaited, although ACM still has the one before", async () => {
    const outcome = await success(issued);
    const host = hostOf(outcome, AGAIN);
    expect(host).toMatchObject({ state: "pending_dns", validationRecord: validationOf("again") });
    expect(find(outcome, certificateOf(AGAIN)).inputs["tags"]).toEqual({
      "store-orders:stack": "store-orders/production",
      "store-orders:requested": host["since"],
    });
  });

  test("once the certificate has been issued, the next update creates the domain and outputs its target, but is not live", async () => {
    const outcome = await success(issued);
    expect(domainNames(outcome)).toEqual([HOST, SILENT]);
    expect(hostOf(outcome)).toEqual({
      ...{ role: "primary", dns: "manual" },
      state: "pending_dns",
      reason:
        "The certificate has been issued. The record of the host has not been observed yet: no such record, although the name exists.",
      next: [
        `At the DNS provider of example.org, add the CNAME record: name orders, value ${TARGET}, TTL 3600.`,
        "DNS changes may take up to 48 hours to propagate.",
        "Update again once it is set: the host is then reported as live.",
      ],
      record: { ...recordOf("orders"), value: TARGET },
      validationRecord: validationOf("orders"),
    });
    expect(outcome.stackOutputs["baseUrl"]).toBe(PLATFORM_URL);
  });

  test("the host is live, and the base URL names it, once its record has been observed", async () => {
    const outcome = await success(live);
    expect(hostOf(outcome)).toMatchObject({ state: "live", next: [], record: { value: TARGET } });
    expect(outcome.stackOutputs["baseUrl"]).toBe(`https://${HOST}/v1`);
  });

  test("a failed lookup is reported as such and does not fail the update", async () => {
    const outcome = await success(live);
    expect(hostOf(outcome, SILENT)).toMatchObject({ state: "pending_dns" });
    expect(hostOf(outcome, SILENT)["reason"]).toContain("silent.example.org: SERVFAIL");
    expect(messages(outcome, 2)).toEqual([
      "The CAA records of silent.example.org were not checked, because DNS did not answer (silent.example.org CAA: SERVFAIL). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.",
    ]);
  });

  test("certificates of one host in different states do not fail the update", async () => {
    const outcome = await success(live);
    const queried = outcome.invokes.filter(({ args }) => args["domain"] === HOST);
    // The first query asks for all states at once.
    expect(queried.slice(1)).toHaveLength(7);
    for (const { args } of queried.slice(1)) expect(args["statuses"]).toHaveLength(1);
  });

  test("the command line reads the hosts, their targets and their states from the outputs", async () => {
    const read = async (run: Promise<Outcome>) => {
      const { stackOutputs } = await success(run);
      const input = Readable.from([Buffer.from(JSON.stringify(stackOutputs))]);
      const { hosts, knownZones } = await readStackDomains("-", { input });
      expect(new Set(knownZones)).toEqual(new Set(["example.org"]));
      expect(hosts.map(({ host }) => host).toSorted()).toEqual([AGAIN, LATE, OBSERVED, HOST, SILENT]);
      return hosts.find(({ host }) => host === HOST);
    };
    const validationRecord = { name: `_0123.${HOST}`, value: validationOf("orders").value };
    const host = { host: HOST, role: "primary", validationRecord };
    const stackOf = (reason: string) => ({
      ...{ state: "pending_dns", dns: "manual" },
      reason: expect.stringContaining(reason),
      next: expect.arrayContaining([expect.any(String)]),
    });
    const period = { since: expect.any(String), until: expect.any(String) };
    const waiting = { ...stackOf("ACM waits for the validation record"), ...period };
    expect(await read(first)).toEqual({ ...host, stack: waiting });
    const stack = stackOf("The certificate has been issued");
    expect(await read(issued)).toEqual({ ...host, target: TARGET, stack });
  });
});

describe("closing the API Gateway hostname", () => {
  const at = cloud();
  const arn = "arn:aws:acm:eu-central-1:123456789012:certificate/own";
  const own = { "store-orders:dns": "manual", "store-orders:certificates": { [HOST]: arn } };
  const open = success(update(withDomains({ primary: HOST }, own), { cloud: at }));
  const config = withDomains({ primary: HOST }, { ...own, ...closed });
  const elsewhere = `${HOST} CNAME shop.example.net`;
  const here = `${HOST} CNAME ${TARGET}`;
  const [zone, addresses] = ["example.org NS ns.example.net", `${TARGET} A 192.0.2.1`];
  const error = `closePlatformHost: ${HOST} is not served yet`;
  const proxy = "shop.example.net A 192.0.2.9";
  const warning = expect.stringContaining(`closePlatformHost: ${HOST} leads elsewhere.`);

  test.each([
    ["fails while the primary host has no address", [], {}, error, []],
    ["fails while its record leads to a name without an address", [elsewhere], {}, error, []],
    ["succeeds once its record leads to the stack", [here], {}, "", []],
    ["succeeds if DNS does not answer", [], { [HOST]: "SERVFAIL" }, "", []],
    ["warns of a record that leads elsewhere, which can be a proxy", [elsewhere, proxy], {}, "", [warning]],
  ] as const)("%s", async (_case, records, failures, error, warnings) => {
    await using dns = await startDnsServer([zone, addresses, ...records].join("\n"), failures);
    const { state } = await open;
    const config = withDomains({ primary: HOST }, { ...own, ...closed });
    const outcome = await update(config, { cloud: at, state, dns, preview: true });
    expect(outcome.errors).toEqual(error === "" ? "" : expect.stringContaining(error));
    const told = messages(outcome, 2).filter((message) => message.includes("leads elsewhere"));
    expect(told).toEqual(warnings);
  });

  test("fails before there is a domain name, whatever DNS answers", async () => {
    await using dns = await startDnsServer([zone, addresses, here].join("\n"));
    const { errors } = await update(config, { dns, preview: true });
    expect(errors).toContain(error);
  });
});
