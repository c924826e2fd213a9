import { afterAll, describe, expect, test } from "vitest";
import { startDnsServer } from "../../support/dns-server.ts";
import { cloud } from "../harness/cloud.ts";
import { closed, success, update, withDomains } from "../harness/scenario.ts";

const HOST = "orders.example.com";
const NEXT = "api.example.com";
const DOMAIN = "aws:apigateway/domainName:DomainName";
const target = (host: string) => `d-${host.replaceAll(".", "")}.execute-api.eu-central-1.amazonaws.com`;
const one = withDomains({ primary: HOST });

/** DNS in which the host leads to the stack. */
const leadingHere = await startDnsServer(`
  ${HOST} CNAME ${target(HOST)}
  ${target(HOST)} A 192.0.2.1
  _0123.${HOST} CNAME _4567.acm-validations.aws
`);
const leadingElsewhere = await startDnsServer(`
  ${HOST} CNAME shop.example.net
  shop.example.net A 192.0.2.9
`);
const failing = await startDnsServer("example.com NS ns.example.net", { [HOST]: "SERVFAIL" });
afterAll(async () => {
  for (const server of [leadingHere, leadingElsewhere, failing]) await server[Symbol.asyncDispose]();
});

describe("closePlatformHost", () => {
  const NOT_LIVE = (host: string) => `store-orders:closePlatformHost: ${host} is not served yet`;

  test("is refused while only an alias is live", async () => {
    const at = cloud();
    const { state } = await success(update(one, { cloud: at }));
    const config = withDomains({ primary: NEXT, aliases: [HOST] }, closed);
    const outcome = await update(config, { cloud: at, state, preview: true });
    expect(outcome.errors).toContain(NOT_LIVE(NEXT));
  });

  test.each([
    ["leads to the stack", leadingHere, 0],
    ["cannot be looked up", failing, 0],
    ["leads elsewhere", leadingElsewhere, 1],
  ] as const)("of a record that is adopted, and %s", async (_case, dns, refusals) => {
    const at = cloud();
    const { state } = await success(update(one, { cloud: at }));
    const id = "f".repeat(32);
    const records = at.records().map((each) => (each.name === HOST ? { ...each, id, comment: "" } : each));
    const here = cloud({ records });
    for (const { registration } of state.values())
      if (registration.type === DOMAIN) here.create(registration);
    const config = { ...one, ...closed, "store-orders:adopt": { [HOST]: id } };
    const { errors } = await update(config, { cloud: here, state, dns, preview: true });
    expect(errors.split(NOT_LIVE(HOST))).toHaveLength(refusals + 1);
  });
});
