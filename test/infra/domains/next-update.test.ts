import { describe, expect, test } from "vitest";
import { cloud, type TestCloud } from "../harness/cloud.ts";
import type { ZoneRecord } from "../harness/dns-records.ts";
import { operationOn } from "../harness/program.ts";
import { messages, production, success, update } from "../harness/scenario.ts";

const RECORD = "cloudflare:index/dnsRecord:DnsRecord";
const CERTIFICATE = "aws:acm/certificate:Certificate";
const ORDERS = "store-orders-production-orders-example-com";
const WWW = "store-orders-production-www-orders-example-com";
const COMMENT = "store-orders/production, kept by Pulumi";

const record = (name: string, content: string, comment: string): ZoneRecord => ({
  ...{ id: "0123456789abcdef0123456789abcdef", zone: "example.com", name, type: "CNAME", content, comment },
});
const TARGET = "d-ordersexamplecom.execute-api.eu-central-1.amazonaws.com";
const routing = record("orders.example.com", TARGET, COMMENT);
const validation = record("_0123.orders.example.com", "_4567.acm-validations.aws", COMMENT);

const routingRecords = (at: TestCloud) => at.records().filter(({ name }) => name === "orders.example.com");

describe("an update of a live stack", () => {
  const other = { ...routing, name: "www.orders.example.com", content: "shop.example.net", comment: "" };
  const at = cloud({ records: [other] });
  const adopting = { ...production, "store-orders:adopt": { "www.orders.example.com": other.id } };
  const live = update(adopting, { cloud: at });
  const adopted = live.then(() => at.records());
  /** The same stack with settings for single hosts. `adopt` gets the identifier of the record that the stack created. */
  const next = live.then(({ state }) => {
    // The test cloud's identifiers are names; Cloudflare's have this form.
    const id = "f".repeat(32);
    const renamed = new Map(
      [...state].map(([urn, entry]) => [
        urn,
        urn.endsWith(`${RECORD}::${ORDERS}-route`) ? { ...entry, id } : entry,
      ]),
    );
    const own = at.records().map((each) => (each.name === "orders.example.com" ? { ...each, id } : each));
    const nextCloud = cloud({ records: own });
    const config = {
      ...production,
      "store-orders:reverify": { "orders.example.com": 1 },
      "store-orders:adopt": { "orders.example.com": id },
      "store-orders:hold": ["www.orders.example.com"],
    };
    return update(config, { cloud: nextCloud, state: renamed }).then((outcome) => ({ outcome, nextCloud }));
  });

  test("'adopt' imports another service's CNAME and points it at the stack", async () => {
    expect(operationOn(await success(live), RECORD, `${WWW}-route`)).toBe("import");
    const target = "d-wwwordersexamplecom.execute-api.eu-central-1.amazonaws.com";
    const records = (await adopted).filter(({ name }) => name === other.name);
    expect(records).toEqual([{ ...other, content: target, comment: COMMENT }]);
  });

  test("the first number under 'reverify' requests a new certificate for this host only", async () => {
    const { outcome } = await next;
    await success(Promise.resolve(outcome));
    expect(operationOn(outcome, CERTIFICATE, `${ORDERS}-certificate`)).toBe("replace");
    expect(operationOn(outcome, CERTIFICATE, `${WWW}-certificate`)).toBe("same");
  });

  test("'adopt' with a record that the stack created keeps the record", async () => {
    const { outcome, nextCloud } = await next;
    expect(operationOn(outcome, RECORD, `${ORDERS}-route`)).toBe("same");
    expect(routingRecords(nextCloud)).toEqual([{ ...routing, id: "f".repeat(32) }]);
  });

  test("'hold' with a host that the stack serves deletes the record, as the preview shows", async () => {
    const { outcome } = await next;
    expect(operationOn(outcome, RECORD, `${WWW}-route`)).toBe("delete");
  });
});

test("a provider that ignores the filters of queries finds no conflict with the stack's own records", async () => {
  const records = [routing, validation, record("shop.example.com", "elsewhere.example.net", "shop")].map(
    (each, index) => ({ ...each, id: `${index}` }),
  );
  const at = cloud({ records, ignoresFilters: true });
  const outcome = await success(update(production, { preview: true, cloud: at }));
  expect(messages(outcome, 2)).toEqual([]);
});

describe("a record that exists but is not in the state", () => {
  test("an own routing record fails the update with the way out", async () => {
    const outcome = await update(production, { cloud: cloud({ records: [routing] }) });
    expect(outcome.code).not.toBe(0);
    expect(messages(outcome, 3)[0]).toMatchInlineSnapshot(`
      "Cannot create the DNS record CNAME orders.example.com → d-ordersexamplecom.execute-api.eu-central-1.amazonaws.com.
        If the record exists at Cloudflare, an interrupted update or another owner created it.
        If another component of this program had the host, see infra/domains/README.md#move-a-host-to-another-component.
        Otherwise: Remove the comment of that record at Cloudflare. The next preview names its identifier; add it to 'adopt', and update again.
        See infra/recovery.md#an-interrupted-run.
        Error from the provider: An identical record already exists. (81058)"
    `);
  });

  test.each([
    ["an own validation record", validation],
    ["another owner's validation record", { ...validation, comment: "shop" }],
  ])("%s fails the update with the way out", async (_case, existing) => {
    const outcome = await update(production, { cloud: cloud({ records: [existing] }) });
    expect(outcome.code).not.toBe(0);
    expect(messages(outcome, 2)).toEqual([]);
    expect(messages(outcome, 3)[0]).toMatchInlineSnapshot(`
      "Cannot create the DNS record CNAME _0123.orders.example.com → _4567.acm-validations.aws.
        If the record exists at Cloudflare, an interrupted update or another owner created it.
        If another component of this program had the host, see infra/domains/README.md#move-a-host-to-another-component.
        Otherwise: If another stack or component keeps it, leave it, and name a certificate of your own under 'certificates'. If not, delete that record at Cloudflare and update again: the stack creates the same one, which validates every certificate of this AWS account for the host.
        See infra/recovery.md#an-interrupted-run.
        Error from the provider: An identical record already exists. (81058)"
    `);
  });
});
