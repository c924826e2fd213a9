import { afterAll, describe, expect, test } from "vitest";
import { startDnsServer } from "../../support/dns-server.ts";
import { cloud } from "../harness/cloud.ts";
import { find, type Outcome, ofType, operationOn } from "../harness/program.ts";
import { domainNames, production, success, update, withDomains } from "../harness/scenario.ts";

const HOST = "orders.example.com";
const ARN = "arn:aws:acm:eu-central-1:123456789012:certificate/own";
const NAME = "store-orders-production-orders-example-com";
const DOMAIN = "aws:apigateway/domainName:DomainName";
const certificates = { "store-orders:certificates": { [HOST]: ARN } };
const withOwn = { ...production, ...certificates };
/** One host, whose DNS is managed elsewhere. */
const manual = withDomains({ primary: HOST }, { "store-orders:dns": "manual" });
const forbidding = await startDnsServer('example.com CAA 0 issue "ca.example.net"');
afterAll(() => forbidding[Symbol.asyncDispose]());
const certificatesOf = (outcome: Outcome) =>
  ofType(outcome, "aws:acm/certificate:Certificate").map(({ inputs }) => inputs["domainName"]);

describe("an existing certificate of a host", () => {
  const live = cloud();
  const requested = success(update(production, { cloud: live }));
  const own = requested.then(({ state }) => success(update(withOwn, { state, cloud: live })));
  const again = own.then(({ state }) => success(update(production, { state, cloud: live })));
  const atElsewhere = cloud();
  const elsewhere = success(update({ ...manual, ...certificates }, { dns: forbidding, cloud: atElsewhere }));
  const returned = elsewhere.then(({ state }) => success(update(manual, { state, cloud: atElsewhere })));

  test("takes the place of the one that was requested, which is deleted with its record", async () => {
    const outcome = await own;
    expect(certificatesOf(await requested)).toContain(HOST);
    expect(certificatesOf(outcome)).not.toContain(HOST);
    expect(find(outcome, `${NAME}-domain`).inputs["regionalCertificateArn"]).toBe(ARN);
    const operations = ["domain", "mapping", "route"].map(
      (part) => [...outcome.operations].find(([urn]) => urn.endsWith(`::${NAME}-${part}`))?.[1],
    );
    expect(operations).toEqual(["update", "same", "same"]);
    const deleted = [...outcome.operations].flatMap(([urn, kind]) =>
      kind === "delete" ? [urn.split("::").at(-1)] : [],
    );
    const parts = ["certificate", "validation", "validation-record"];
    expect(deleted.toSorted()).toEqual(parts.map((part) => `${NAME}-${part}`));
  });

  test("is watched by the alarm of the host", async () => {
    const alarms = ofType(await own, "aws:cloudwatch/metricAlarm:MetricAlarm");
    expect(alarms.filter(({ inputs }) => JSON.stringify(inputs).includes(ARN))).toHaveLength(1);
  });

  test("is given back: a new one is requested, and the domain name stays", async () => {
    const outcome = await again;
    expect(certificatesOf(outcome)).toContain(HOST);
    expect(operationOn(outcome, DOMAIN, `${NAME}-domain`)).toBe("update");
  });

  test("with DNS elsewhere, its successor needs permission of the authority", async () => {
    const { state } = await elsewhere;
    const { errors } = await update(manual, { state, cloud: atElsewhere, dns: forbidding, preview: true });
    expect(errors).toMatch(/CAA records forbid the certificate/);
  });

  test.each(["VALIDATION_TIMED_OUT", "FAILED"] as const)(
    "with DNS elsewhere, it serves the host while the request for its successor is %s, which is reported",
    async (status) => {
      const { state } = await returned;
      const world = cloud({ certificates: [{ host: HOST, status }] });
      for (const each of ofType(await elsewhere, DOMAIN)) world.create(each);
      const outcome = await success(update(manual, { state, cloud: world }));
      expect(domainNames(outcome)).toEqual([HOST]);
      expect(outcome.stackOutputs["domains"]).toMatchObject({ [HOST]: { state: "needs_attention" } });
    },
  );

  test("needs no permission of the authority, so CAA records are not checked", async () => {
    const forbidden = await update(manual, { dns: forbidding, preview: true });
    expect(forbidden.errors).toMatch(/DNS is not ready/);
    expect((await elsewhere).code).toBe(0);
  });

  test("with DNS elsewhere, the domain is created at once, and there is no validation record to set", async () => {
    const outcome = await elsewhere;
    expect(domainNames(outcome)).toEqual([HOST]);
    expect(outcome.invokes.filter(({ token }) => token.includes("getCertificate"))).toEqual([]);
    const [status] = Object.values(outcome.stackOutputs["domains"] as object);
    const record = { value: expect.stringContaining("execute-api") };
    expect(status).toMatchObject({ state: "pending_dns", record });
    expect(status).not.toHaveProperty("validationRecord");
  });

  test("with DNS elsewhere, is given back: the domain name keeps it until the new one has been issued", async () => {
    const outcome = await returned;
    expect(certificatesOf(outcome)).toEqual([HOST]);
    for (const type of [DOMAIN, "aws:apigateway/basePathMapping:BasePathMapping"])
      expect(ofType(outcome, type).map(({ urn }) => outcome.operations.get(urn))).toEqual(["same"]);
    expect(find(outcome, `${NAME}-domain`).inputs["regionalCertificateArn"]).toBe(ARN);
    const [status] = Object.values(outcome.stackOutputs["domains"] as object);
    expect(status).toHaveProperty("validationRecord.value", "_4567.acm-validations.aws");
    const issued = cloud({ certificates: [{ host: HOST, status: "ISSUED" }] });
    const next = await success(update(manual, { state: outcome.state, cloud: issued }));
    expect(operationOn(next, DOMAIN, `${NAME}-domain`)).toBe("update");
  });

  test("is not mistaken for none if API Gateway cannot be queried", async () => {
    const unavailable = ["aws:apigateway/getDomainName:getDomainName"];
    const { code, errors } = await update(manual, { cloud: cloud({ unavailable }), preview: true });
    expect(code).not.toBe(0);
    expect(errors).toBe(`Cannot look up the domain name ${HOST}: connection refused`);
  });
});
