import { afterAll, describe, expect, test } from "vitest";
import { startDnsServer } from "../../support/dns-server.ts";
import { cloud, type World } from "../harness/cloud.ts";
import type { RecordSet } from "../harness/hosted-zones.ts";
import { find, type Outcome, operationOn, run } from "../harness/program.ts";
import { typeErrors } from "../harness/provider-types.ts";
import { messages, redirectFrom, success, update, withDomains } from "../harness/scenario.ts";

const RECORD = "aws:route53/record:Record";
const ORDERS = "store-orders-production-orders-example-com";
const COMMENT = "store-orders/production, kept by Pulumi";
const route53 = { "store-orders:dns": "route53" };
const one = withDomains({ primary: "orders.example.com" }, route53);
const withApex = withDomains(
  { primary: "orders.example.com", redirects: [redirectFrom("example.com")] },
  route53,
);

/** DNS in which the zone of the hosts is delegated. */
const dns = await startDnsServer("example.com NS ns-1.awsdns-01.com");
afterAll(() => dns[Symbol.asyncDispose]());

const zones = [
  { id: "Z1PUBLIC", name: "example.com" },
  { id: "Z2PRIVATE", name: "example.com", private: true },
  { id: "Z3PRIVATE", name: "orders.example.com", private: true },
];
const set = (name: string, type: string, value: string, more: Partial<RecordSet> = {}): RecordSet => ({
  ...{ zoneId: "Z1PUBLIC", name, type, values: [value] },
  ...more,
});
const alias = (host: string): RecordSet => {
  const target = `d-${host.replaceAll(".", "")}.execute-api.eu-central-1.amazonaws.com`;
  return set(host, "A", target, { alias: true, setIdentifier: COMMENT });
};
const validation = (host: string): RecordSet =>
  set(`_0123.${host}`, "CNAME", "_4567.acm-validations.aws", { ttl: 3600, setIdentifier: COMMENT });
/** What others have in the zone, and what does not matter: also a wildcard, records beside those of the stack, and the validation record of another stack. */
const others = [
  { ...validation("orders.example.com"), setIdentifier: "store-orders/staging, kept by Pulumi" },
  set("example.com", "NS", "ns-1.awsdns-01.com"),
  set("example.com", "TXT", '"v=spf1 -all"'),
  set("orders.example.com", "TXT", '"a note"'),
  set("*.example.com", "A", "192.0.2.9"),
  set("xorders.example.com", "A", "192.0.2.9"),
];

const at = (recordSets: readonly RecordSet[] = others, world: World = {}) =>
  cloud({ zones: [], hostedZones: zones, recordSets, ...world });
const preview = (config: Readonly<Record<string, unknown>>, world: ReturnType<typeof at>) =>
  run({ stack: "production", config, preview: true, cloud: world });

const live = at();
const first = update(withApex, { cloud: live });
const created = first.then(() => live.recordSets());
const second = first.then(({ state }) => update(withApex, { cloud: live, state, dns }));
const removed = second.then(({ state }) => update(one, { cloud: live, state }));

describe("hosts at Route 53", () => {
  test("get an alias, also at an apex, and a validation record, in the public zone, beside what is there", async () => {
    await success(first);
    const own = ["orders.example.com", "example.com"].flatMap((host) => [validation(host), alias(host)]);
    expect(new Set(await created)).toEqual(new Set([...others, ...own]));
  });

  test("have inputs of the provider's types, and need nothing of Cloudflare", async () => {
    const { registrations, invokes } = await success(first);
    const used = [...registrations.map(({ type }) => type), ...invokes.map(({ token }) => token)];
    expect(used.filter((name) => name.startsWith("cloudflare:"))).toEqual([]);
    expect(find({ registrations }, `${ORDERS}-route`).inputs["aliases"]).toEqual([
      {
        name: "d-ordersexamplecom.execute-api.eu-central-1.amazonaws.com",
        zoneId: "Z1U9ULNL0V5AJ3",
        evaluateTargetHealth: false,
      },
    ]);
    expect(typeErrors(registrations.filter(({ type }) => type === RECORD))).toBe("");
  });

  test("are live, and the outputs describe their records", async () => {
    const { stackOutputs } = await success(first);
    expect(stackOutputs["baseUrl"]).toBe("https://orders.example.com/v1");
    expect(stackOutputs["domains"]).toMatchObject({
      "orders.example.com": {
        state: "live",
        record: { zone: "example.com", type: "ALIAS", name: "orders", ttl: 60 },
      },
      "example.com": { state: "live", record: { zone: "example.com", type: "ALIAS", name: "@", ttl: 60 } },
    });
  });

  test("are the same in the next update, whose preflight recognises their records", async () => {
    const { operations, logs } = await success(second);
    expect([...operations].filter(([, operation]) => operation !== "same")).toEqual([]);
    expect(logs.filter(({ severity }) => severity > 1)).toEqual([]);
  });

  test("are removed in reverse order, and nothing of others is", async () => {
    const { operations } = await success(removed);
    const deleted = [...operations].filter(([, operation]) => operation === "delete");
    const names = deleted.map(([urn]) => urn).filter((urn) => !urn.includes("MetricAlarm"));
    expect(names.map((urn) => urn.split("::").at(-1))).toEqual(
      ["route", "mapping", "domain", "validation", "validation-record", "certificate"].map(
        (part) => `store-orders-production-example-com-${part}`,
      ),
    );
    const kept = [...others, validation("orders.example.com"), alias("orders.example.com")];
    expect(live.recordSets()).toEqual(kept);
  });
});

test("a stack moves from Cloudflare to Route 53, and only its records are created anew", async () => {
  const both = cloud({ hostedZones: zones, recordSets: others });
  const before = await success(update(withDomains({ primary: "orders.example.com" }), { cloud: both }));
  const outcome = await success(update(one, { cloud: both, state: before.state }));
  const changes = [...outcome.operations].filter(([, operation]) => operation !== "same");
  expect(changes.map(([urn, operation]) => `${operation} ${urn.split("$").at(-1)}`).sort()).toEqual([
    `create ${RECORD}::${ORDERS}-route`,
    `create ${RECORD}::${ORDERS}-validation-record`,
    `delete cloudflare:index/dnsRecord:DnsRecord::${ORDERS}-route`,
    `delete cloudflare:index/dnsRecord:DnsRecord::${ORDERS}-validation-record`,
  ]);
  expect(both.records()).toEqual([]);
});

describe("the preflight at Route 53", () => {
  test("reports each foreign record and each zone that is missing or not the only one, before anything is created", async () => {
    const hosts = ["www.example.com", "old.example.com", "a.eu.example.com"];
    const config = withDomains(
      {
        primary: "orders.example.com",
        redirects: [...hosts, "shop.example.net", "shop.example.org"].map(redirectFrom),
      },
      route53,
    );
    const twins = ["Z8", "Z9"].map((id) => ({ id, name: "example.org" }));
    const records = [
      ...others,
      set("orders.example.com", "A", "192.0.2.1"),
      set("orders.example.com", "AAAA", "2001:db8::1"),
      set("www.example.com", "CNAME", "shop.example.net."),
      { ...alias("old.example.com"), setIdentifier: "store-orders/staging, kept by Pulumi" },
      set("eu.example.com", "NS", "ns.example.net."),
    ];
    const world = at(records, { hostedZones: [...zones, ...twins] });
    const outcome = await preview(config, world);
    expect(outcome.code).not.toBe(0);
    expect(outcome.registrations.filter(({ custom }) => custom)).toEqual([]);
    expect(outcome.errors).toMatchInlineSnapshot(`
      "DNS is not ready for the domains:
        orders.example.com: A orders.example.com → 192.0.2.1 (record Z1PUBLIC_orders.example.com_A) conflicts with the alias of this stack in the zone example.com. If this stack is to take it over, with its traffic, set store-orders:adopt to { orders.example.com: "Z1PUBLIC_orders.example.com_A" } and run 'npx pulumi up --refresh'. If it serves traffic, follow infra/domains/README.md#move-a-live-host. Otherwise delete it, and run 'npx pulumi up --refresh'.
        orders.example.com: AAAA orders.example.com → 2001:db8::1 (record Z1PUBLIC_orders.example.com_AAAA) conflicts with the alias of this stack in the zone example.com. If it serves traffic, follow infra/domains/README.md#move-a-live-host. Otherwise delete it, and run 'npx pulumi up --refresh'.
        www.example.com: CNAME www.example.com → shop.example.net (record Z1PUBLIC_www.example.com_CNAME) conflicts with the alias of this stack in the zone example.com. If this stack is to take it over, with its traffic, set store-orders:adopt to { www.example.com: "Z1PUBLIC_www.example.com_CNAME" } and run 'npx pulumi up --refresh'. If it serves traffic, follow infra/domains/README.md#move-a-live-host. Otherwise delete it, and run 'npx pulumi up --refresh'.
        old.example.com: A old.example.com → d-oldexamplecom.execute-api.eu-central-1.amazonaws.com (record Z1PUBLIC_old.example.com_A_store-orders/staging, kept by Pulumi) is kept by the stack store-orders/staging. If this stack was called so before a rename, set store-orders:renamedFrom to store-orders/staging. Otherwise it conflicts with the alias of this stack in the zone example.com. If this stack is to take it over, with its traffic, set store-orders:adopt to { old.example.com: "Z1PUBLIC_old.example.com_A_store-orders/staging, kept by Pulumi" } and run 'npx pulumi up --refresh'. If it serves traffic, follow infra/domains/README.md#move-a-live-host. Otherwise delete it, and run 'npx pulumi up --refresh'.
        a.eu.example.com: NS eu.example.com → ns.example.net (record Z1PUBLIC_eu.example.com_NS) delegates the name to other name servers. Delete it, or set 'dns: manual' and set the records there.
        shop.example.net: the AWS account has no public hosted zone for this host (looked for shop.example.net, example.net). Create it in Route 53 and delegate the domain to its name servers, or set 'dns: manual' if its DNS is managed elsewhere, also in another AWS account.
        shop.example.org: the AWS account has 2 public hosted zones example.org (Z8, Z9). Delete those that the domain is not delegated to, or set 'dns: manual'."
    `);
  });

  test("recognises no record by its target: that of another owner is never changed", async () => {
    const { setIdentifier: _, ...simple } = alias("orders.example.com");
    const replaced = at([...others, simple]);
    const outcome = await update(one, { cloud: replaced, state: (await removed).state });
    expect(outcome.code).not.toBe(0);
    expect(outcome.errors).toContain("A orders.example.com → d-ordersexamplecom");
    expect(replaced.recordSets()).toEqual([...others, simple]);
  });

  test("fails if Route 53 cannot be queried", async () => {
    const outcome = await preview(one, at(others, { unavailable: ["aws:route53/getZone:getZone"] }));
    expect(outcome.code).not.toBe(0);
    expect(outcome.errors).toMatchInlineSnapshot(`
      "Cannot query Route 53 for the zone orders.example.com: connection refused
      The credentials of AWS need the policies that are printed with 'dns: route53': see infra/README.md#permissions."
    `);
  });
});

describe("a record at Route 53 that exists but is not in the state", () => {
  test("'adopt' imports records of both types and makes them the aliases of the stack", async () => {
    const config = withDomains(
      { primary: "orders.example.com", redirects: [redirectFrom("www.example.com")] },
      route53,
    );
    const adopted = [
      ["orders.example.com", "A"],
      ["www.example.com", "CNAME"],
    ] as const;
    const live = at(adopted.map(([host, type]) => set(host, type, "shop.example.net")));
    const adopt = Object.fromEntries(adopted.map(([host, type]) => [host, `Z1PUBLIC_${host}_${type}`]));
    const outcome = await success(update({ ...config, "store-orders:adopt": adopt }, { cloud: live }));
    const next = await success(update(config, { cloud: live, state: outcome.state }));
    for (const route of [`${ORDERS}-route`, "store-orders-production-www-example-com-route"]) {
      expect(operationOn(outcome, RECORD, route)).toBe("import");
      expect(operationOn(next, RECORD, route)).toBe("same");
    }
    const own = adopted.flatMap(([host]) => [validation(host), alias(host)]);
    expect(new Set(live.recordSets())).toEqual(new Set(own));
  });

  test("the stack's own routing record fails the update with the way out", async () => {
    const outcome = await update(one, { cloud: at([alias("orders.example.com")]) });
    expect(outcome.code).not.toBe(0);
    expect(messages(outcome, 3)[0]).toMatchInlineSnapshot(`
      "Cannot create the DNS record A orders.example.com → d-ordersexamplecom.execute-api.eu-central-1.amazonaws.com.
        If the record exists at Route 53, an interrupted update or another owner created it.
        If another component of this program had the host, see infra/domains/README.md#move-a-host-to-another-component.
        Otherwise: Change the routing policy of that record to simple at Route 53. The next preview names its identifier; add it to 'adopt', and update again.
        See infra/recovery.md#an-interrupted-run.
        Error from the provider: InvalidChangeBatch: [Tried to create resource record set [name='orders.example.com.', type='A'] but it already exists]"
    `);
  });

  test("a validation record of another owner fails the update with the way out", async () => {
    const { setIdentifier: _, ...simple } = validation("orders.example.com");
    const outcome = await update(one, { cloud: at([simple]) });
    expect(outcome.code).not.toBe(0);
    expect(messages(outcome, 3)[0]).toMatchInlineSnapshot(`
      "Cannot create the DNS record CNAME _0123.orders.example.com → _4567.acm-validations.aws.
        If the record exists at Route 53, an interrupted update or another owner created it.
        If another component of this program had the host, see infra/domains/README.md#move-a-host-to-another-component.
        Otherwise: If another stack or component keeps it, leave it, and name a certificate of your own under 'certificates'. If not, delete that record at Route 53 and update again: the stack creates the same one, which validates every certificate of this AWS account for the host.
        See infra/recovery.md#an-interrupted-run.
        Error from the provider: InvalidChangeBatch: [RRSet of type CNAME with DNS name _0123.orders.example.com., SetIdentifier store-orders/production, kept by Pulumi cannot be created as a non-weighted set exists with the same name and type.]"
    `);
  });
});

describe("a hosted zone of the host itself that is not delegated", () => {
  const ZONE = "orders.example.com";
  const both = { hostedZones: [...zones, { id: "Z4CHILD", name: ZONE }] };
  const passedOver = (status: string) =>
    `${ZONE}: the zone ${ZONE} at Route 53 is not delegated (status ${status}), so the records are set in example.com. They do not move when it becomes active: delete it, or delegate it and update again.`;
  const parts = ["route", "validation-record"].map((part) => `${ORDERS}-${part}`);
  const liveIn = async (world: World, recordSets = others) => {
    const { state } = await success(update(one, { cloud: at(recordSets, world), dns }));
    return (answers: Parameters<typeof startDnsServer>, sets = others, now: World = both) =>
      next(state, answers, [...sets, validation(ZONE)], now);
  };
  const next = async (
    state: Outcome["state"],
    answers: Parameters<typeof startDnsServer>,
    sets: readonly RecordSet[],
    world: World,
  ) => {
    await using present = await startDnsServer(...answers);
    const ids = [...state.values()].map(({ id }) => id.split("_"));
    const [id] = ids.find(([, name]) => name === ZONE) ?? [];
    const zoneId = String(id);
    const own = [...sets, alias(ZONE)].map((each) =>
      each.setIdentifier === COMMENT ? { ...each, zoneId } : each,
    );
    const outcome = await success(update(one, { cloud: at(own, world), state, dns: present }));
    const changes = parts.map((part) => operationOn(outcome, RECORD, part));
    return { changes, warnings: messages(outcome, 2) };
  };

  test("does not take over a live host, whatever DNS answers", async () => {
    const update = await liveIn({});
    const kept = { changes: ["same", "same"], warnings: [passedOver("without NS records")] };
    expect(await update(["example.com NS ns-1.awsdns-01.com"])).toEqual(kept);
    const failing = await update(["example.com NS ns-1.awsdns-01.com", { [`NS ${ZONE}`]: "SERVFAIL" }]);
    expect(failing).toEqual({ ...kept, warnings: [passedOver("unknown")] });
  });

  test("takes it over once the zone above delegates it", async () => {
    const update = await liveIn({});
    const sets = [...others.filter(({ name }) => name !== ZONE), set(ZONE, "NS", "ns-1.awsdns-01.com")];
    const replaced = { changes: ["replace", "replace"], warnings: [] };
    expect(await update([`${ZONE} NS ns-1.awsdns-01.com`], sets)).toEqual(replaced);
  });

  test("takes it over once DNS asks it, although the zone above is another provider's now", async () => {
    const update = await liveIn({});
    const { changes } = await update([`${ZONE} NS ns-1.awsdns-01.com`]);
    expect(changes).toEqual(["replace", "replace"]);
  });

  test("keeps a live host that is in it, although DNS does not know it where the update runs", async () => {
    const update = await liveIn({ hostedZones: [{ id: "Z4CHILD", name: ZONE }] }, []);
    const { changes, warnings } = await update(["example.com NS ns-1.private.example"], []);
    expect(changes).toEqual(["same", "same"]);
    expect(warnings).toEqual([
      `DNS asks nobody for ${ZONE}, and not Route 53 (ns-1.awsdns-01.com, ns-2.awsdns-02.co.uk): no record that is set there counts. Correct the name servers where ${ZONE} is delegated.`,
    ]);
  });

  test.each([
    ["gets no record of a new host", {}, "Z1PUBLIC", [passedOver("without NS records")]],
    ["gets those of a new host if DNS does not answer", { [`NS ${ZONE}`]: "SERVFAIL" }, "Z4CHILD", []],
  ] as const)("%s", async (_case, failures, zoneId, warnings) => {
    await using present = await startDnsServer("example.com NS ns-1.awsdns-01.com", failures);
    const outcome = await success(update(one, { cloud: at(others, both), dns: present, preview: true }));
    expect(parts.map((part) => find(outcome, part).inputs["zoneId"])).toEqual([zoneId, zoneId]);
    expect(messages(outcome, 2)).toEqual(warnings);
  });
});

test("'hold' creates everything but the record, with a warning of a zone that has not been moved yet", async () => {
  await using dns = await startDnsServer("example.com NS ada.ns.cloudflare.com");
  const live = at();
  const config = { ...one, "store-orders:hold": ["orders.example.com"] };
  const outcome = await success(update(config, { cloud: live, dns }));
  expect(live.recordSets()).toEqual([...others, validation("orders.example.com")]);
  expect(outcome.stackOutputs["domains"]).toMatchObject({ "orders.example.com": { state: "pending_dns" } });
  expect(messages(outcome, 2)).toEqual([
    "DNS asks ada.ns.cloudflare.com for example.com, and not Route 53 (ns-1.awsdns-01.com, ns-2.awsdns-02.co.uk): no record that is set there counts. Correct the name servers where example.com is delegated.",
  ]);
});
