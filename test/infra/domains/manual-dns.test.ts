import { Readable } from "node:stream";
import { afterAll, describe, expect, test, vi } from "vitest";
import { readStackDomains } from "../../../lib/cli/stack-outputs.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { type AcmCertificate, cloud } from "../harness/cloud.ts";
import type { State } from "../harness/deployment.ts";
import { endOfSuite, type Outcome, ofType, operationOn } from "../harness/program.ts";
import { domainNames, success, update, withDomains } from "../harness/scenario.ts";

// Runs are queued, so the first test waits for all of them.
vi.setConfig({ testTimeout: 120_000 });

const HOST = "orders.example.org";
const TARGET = "d-ordersexampleorg.execute-api.eu-central-1.amazonaws.com";
const PLATFORM_URL = "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1";
const VALIDATION = `_0123.${HOST} CNAME _4567.acm-validations.aws`;
const CERTIFICATE = "aws:acm/certificate:Certificate";
const RECORD = { zone: "example.org", type: "CNAME", name: "orders", ttl: 3600 };
const VALIDATION_RECORD = {
  zone: "example.org",
  type: "CNAME",
  name: "_0123.orders",
  ttl: 3600,
  value: "_4567.acm-validations.aws",
};

const dns = await startDnsServer(VALIDATION);
const liveDns = await startDnsServer(`
  ${VALIDATION}
  ${HOST} CNAME ${TARGET}
  ${TARGET} A 192.0.2.1
`);
const emptyDns = await startDnsServer("");
const silentDns = await startDnsServer("example.org NS ns.example.net", { [HOST]: "SERVFAIL" });
afterAll(async () => {
  for (const server of [dns, liveDns, emptyDns, silentDns]) await server[Symbol.asyncDispose]();
});

const signal = endOfSuite();
const config = withDomains({ primary: HOST }, { "store-orders:dns": "manual" });
const withCertificates = (...certificates: readonly Omit<AcmCertificate, "host">[]) =>
  cloud({ certificates: certificates.map((each) => ({ ...each, host: HOST })) });
const next = (
  state: Promise<{ readonly state: State }>,
  server: typeof dns,
  ...certificates: readonly Omit<AcmCertificate, "host">[]
) =>
  state.then(({ state }) =>
    update(config, { cloud: withCertificates(...certificates), state, dns: server, signal }),
  );

const first = update(config, { dns: emptyDns });
const validated = next(first, dns, { status: "PENDING_VALIDATION" });
const timedOut = next(first, emptyDns, { status: "VALIDATION_TIMED_OUT" });
const requestedAgain = first.then(({ state }) =>
  update(
    { ...config, "store-orders:reverify": { [HOST]: 1 } },
    {
      cloud: withCertificates({ status: "VALIDATION_TIMED_OUT", arn: "the certificate before" }),
      state,
      dns: emptyDns,
      signal,
    },
  ),
);
const issued = next(first, dns, { status: "ISSUED" });
const unanswered = next(issued, silentDns, { status: "ISSUED" });
const live = next(
  issued,
  liveDns,
  { status: "PENDING_VALIDATION", arn: "the certificate after" },
  { status: "ISSUED" },
);

const hostOf = ({ stackOutputs }: Outcome) =>
  (stackOutputs["domains"] as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[HOST] ?? {};
const requestTimes = ({ registrations }: Outcome) =>
  ofType({ registrations }, CERTIFICATE).map(({ inputs }) => inputs["tags"]);

describe("with DNS managed elsewhere", () => {
  test("the first update requests the certificate, outputs the validation record with its deadline, and does not wait", async () => {
    const outcome = await success(first);
    expect(domainNames(outcome)).toEqual([]);
    expect(ofType(outcome, "aws:acm/certificateValidation:CertificateValidation")).toEqual([]);
    expect(outcome.registrations.some(({ type }) => type.startsWith("cloudflare:"))).toBe(false);
    const { since, until, ...host } = hostOf(outcome);
    expect(Date.parse(String(until)) - Date.parse(String(since))).toBe(72 * 3_600_000);
    expect(host).toEqual({
      role: "primary",
      state: "pending_dns",
      reason: `ACM waits for the validation record since ${String(since)}. It stops 72 hours after the request, at ${String(until)}.`,
      next: [
        "Set the validationRecord at the DNS provider, and keep it: renewals need it. DNS changes may take up to 48 hours to propagate.",
        "At the DNS provider of example.org, add the CNAME record: name _0123.orders, value _4567.acm-validations.aws, TTL 3600.",
        "Update again once ACM has issued the certificate: the outputs then have the host's record.",
      ],
      record: RECORD,
      validationRecord: VALIDATION_RECORD,
    });
    expect(outcome.stackOutputs["baseUrl"]).toBe(PLATFORM_URL);
  });

  test("an observed validation record is reported, and the time of the request does not change", async () => {
    const outcome = await success(validated);
    expect(operationOn(outcome, CERTIFICATE, "store-orders-production-orders-example-org-certificate")).toBe(
      "same",
    );
    expect(hostOf(outcome)).toMatchObject({
      state: "certificate_pending",
      validationRecord: VALIDATION_RECORD,
    });
    expect(hostOf(outcome)["since"]).toBe(hostOf(await first)["since"]);
    expect(hostOf(outcome)["reason"]).toMatch(
      /^The validation record is set\. .* since \d{4}-.*Z; ACM issues it/,
    );
  });

  test("a certificate that ACM has given up on needs attention, and its validation record is not shown any more", async () => {
    const host = hostOf(await success(timedOut));
    expect(host).toEqual({
      role: "primary",
      state: "needs_attention",
      attention: "validation_timed_out",
      reason: "ACM gave up, because it did not find the validation record within 72 hours of the request.",
      next: [
        "Request a new certificate: set store-orders:reverify to { orders.example.org: 1 } and update.",
        "Then set the validationRecord in the outputs at the DNS provider.",
      ],
      record: RECORD,
    });
  });

  test("a certificate that was requested again is awaited, although ACM still has the one before", async () => {
    const outcome = await success(requestedAgain);
    expect(hostOf(outcome)).toMatchObject({ state: "pending_dns", validationRecord: VALIDATION_RECORD });
    expect(requestTimes(outcome)).toEqual([
      { "store-orders:stack": "store-orders/production", "store-orders:requested": hostOf(outcome)["since"] },
    ]);
  });

  test("once the certificate has been issued, the next update creates the domain and outputs its target, but is not live", async () => {
    const outcome = await success(issued);
    expect(domainNames(outcome)).toEqual([HOST]);
    expect(hostOf(outcome)).toEqual({
      role: "primary",
      state: "pending_dns",
      reason:
        "The certificate has been issued. The record of the host has not been observed yet: no such record, although the name exists.",
      next: [
        `At the DNS provider of example.org, add the CNAME record: name orders, value ${TARGET}, TTL 3600.`,
        "DNS changes may take up to 48 hours to propagate.",
        "Update again once it is set: the host is then reported as live.",
      ],
      record: { ...RECORD, value: TARGET },
      validationRecord: VALIDATION_RECORD,
    });
    expect(outcome.stackOutputs["baseUrl"]).toBe(PLATFORM_URL);
  });

  test("the host is live, and the base URL names it, once its record has been observed", async () => {
    const outcome = await success(live);
    expect(hostOf(outcome)).toMatchObject({ state: "live", next: [], record: { value: TARGET } });
    expect(outcome.stackOutputs["baseUrl"]).toBe(`https://${HOST}/v1`);
  });

  test("a failed lookup is reported as such and does not fail the update", async () => {
    const outcome = await success(unanswered);
    expect(hostOf(outcome)).toMatchObject({ state: "pending_dns" });
    expect(hostOf(outcome)["reason"]).toContain("orders.example.org: SERVFAIL");
    const warnings = outcome.logs.filter(({ severity }) => severity === 2).map(({ message }) => message);
    expect(warnings).toEqual([
      "The CAA records of orders.example.org were not checked, because DNS did not answer (orders.example.org CAA: SERVFAIL). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.",
    ]);
  });

  test("certificates of one host in different states do not fail the update", async () => {
    const outcome = await success(live);
    const queried = outcome.invokes.map(({ args }) => args["statuses"]);
    expect(queried.slice(1)).toHaveLength(7);
    for (const statuses of queried.slice(1)) expect(statuses).toHaveLength(1);
  });

  test("the command line reads the hosts, their targets and their states from the outputs", async () => {
    const read = async (run: Promise<Outcome>) => {
      const { stackOutputs } = await success(run);
      return readStackDomains("-", { input: Readable.from([Buffer.from(JSON.stringify(stackOutputs))]) });
    };
    const { value } = VALIDATION_RECORD;
    const validationRecord = { name: `_0123.${HOST}`, value };
    const host = { host: HOST, role: "primary", validationRecord };
    const knownZones = ["example.org"];
    const stackOf = (reason: string) => ({
      state: "pending_dns",
      reason: expect.stringContaining(reason),
      next: expect.arrayContaining([expect.any(String)]),
    });
    const period = { since: expect.any(String), until: expect.any(String) };
    expect(await read(first)).toEqual({
      hosts: [{ ...host, stack: { ...stackOf("ACM waits for the validation record"), ...period } }],
      knownZones,
    });
    expect(await read(issued)).toEqual({
      hosts: [{ ...host, target: TARGET, stack: stackOf("The certificate has been issued") }],
      knownZones,
    });
  });
});
