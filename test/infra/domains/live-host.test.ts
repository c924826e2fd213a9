import { afterAll, describe, expect, test } from "vitest";
import { type DnsServer, startDnsServer } from "../../support/dns-server.ts";
import { cloud, type TestCloud, type World } from "../harness/cloud.ts";
import type { State } from "../harness/deployment.ts";
import { type Outcome, operationOn } from "../harness/program.ts";
import { closed, messages, success, update, withDomains } from "../harness/scenario.ts";

const HOST = "orders.example.com";
const NEXT = "api.example.com";
const ZONES = [{ id: "Z1PUBLIC", name: "example.com" }];
const DOMAIN = "aws:apigateway/domainName:DomainName";
const target = (host: string) => `d-${host.replaceAll(".", "")}.execute-api.eu-central-1.amazonaws.com`;
const manual = { "store-orders:dns": "manual" };
const one = withDomains({ primary: HOST });
const swapped = { primary: NEXT, redirects: [{ from: HOST, to: NEXT }] };
const hostsAt = (at: TestCloud) => at.records().map(({ name }) => name);

/** The state after `pulumi state delete` of the records that route hosts. */
const withoutRoutes = (state: State) => new Map([...state].filter(([urn]) => !urn.endsWith("-route")));
/** The domain names as they are after `aws apigateway untag-resource` with these keys. */
function untag(
  at: TestCloud,
  { state }: Outcome,
  keys: readonly string[],
  more: Readonly<Record<string, string>> = {},
) {
  for (const { id, registration } of state.values()) {
    if (registration.type !== DOMAIN) continue;
    const { tags, ...inputs } = registration.inputs;
    const kept = Object.entries(tags ?? {}).filter(([key]) => !keys.includes(key));
    at.update(id, { ...registration, inputs: { ...inputs, tags: { ...Object.fromEntries(kept), ...more } } });
  }
}

/** A cloud in which a stack is deployed, and its state. */
async function deployed(config: Readonly<Record<string, unknown>>, world: World = {}) {
  const at = cloud(world);
  const outcome = await success(update(config, { cloud: at }));
  return { at, outcome, state: outcome.state };
}
/** The errors of an update, which is refused before anything is changed, as is its preview. */
async function refusalOf(
  config: Readonly<Record<string, unknown>>,
  at: TestCloud,
  state: State,
  dns?: DnsServer,
) {
  const before = [at.records(), at.recordSets()];
  const errors = new Set<string>();
  for (const preview of [true, false]) {
    const outcome = await update(config, { cloud: at, state, preview, ...(dns && { dns }) });
    expect(outcome.code).not.toBe(0);
    expect(outcome.operations.size).toBe(0);
    errors.add(outcome.errors);
  }
  expect([at.records(), at.recordSets()]).toEqual(before);
  expect(errors.size).toBe(1);
  return [...errors].join();
}

const leadingHere = await startDnsServer(`
  ${HOST} CNAME ${target(HOST)}
  ${target(HOST)} A 192.0.2.1
  _0123.${HOST} CNAME _4567.acm-validations.aws
`);
const atCloudflare = await startDnsServer(`
  example.com NS ada.ns.cloudflare.com
  ${HOST} CNAME ${target(HOST)}
  ${target(HOST)} A 192.0.2.1
`);
const unanswered = await startDnsServer(
  `
  ${HOST} CNAME ${target(HOST)}
  ${target(HOST)} A 192.0.2.1
`,
  { "NS example.com": "SERVFAIL" },
);
const leadingElsewhere = await startDnsServer(`
  ${HOST} CNAME shop.example.net
  shop.example.net A 192.0.2.9
`);
const failing = await startDnsServer("example.com NS ns.example.net", { [HOST]: "SERVFAIL" });
afterAll(async () => {
  for (const server of [leadingHere, atCloudflare, unanswered, leadingElsewhere, failing])
    await server[Symbol.asyncDispose]();
});

describe("a change to 'dns: manual' with a host", () => {
  const own = {
    "store-orders:certificates": {
      [HOST]: "arn:aws:acm:eu-central-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef",
    },
  };
  const issued = { certificates: [{ host: HOST, status: "ISSUED" }] };

  test("under 'hold' is not refused: it has no record that could be deleted", async () => {
    const at = cloud({ hostedZones: ZONES, ...issued });
    const config = { ...one, ...own };
    const { state } = await success(update({ ...config, "store-orders:hold": [HOST] }, { cloud: at }));
    expect(at.records()).toEqual([]);
    await success(
      update({ ...config, ...manual }, { cloud: at, state, preview: true, dns: leadingElsewhere }),
    );
  });

  test.each([
    ["Cloudflare", {}],
    ["Cloudflare, with a certificate of its own", own],
    ["Route 53", { "store-orders:dns": "route53" }],
  ])("from %s is refused before anything is changed, also in the preview", async (_case, more) => {
    const { at, state } = await deployed({ ...one, ...more }, { hostedZones: ZONES, ...issued });
    expect(await refusalOf({ ...one, ...more, ...manual }, at, state, leadingHere)).toBe(
      [
        "DNS is not ready for the domains:",
        `  ${HOST}: this stack keeps its records, and would delete them with 'dns: manual'. Set 'dns' back, or follow infra/domains/README.md#change-to-manual-dns.`,
      ].join("\n"),
    );
  });

  test("succeeds after the documented steps: the host keeps its record, and the mark does not come back", async () => {
    const { at, outcome: first } = await deployed(one, issued);
    untag(at, first, ["store-orders:records"]);
    const state = withoutRoutes(first.state);
    const next = await success(update({ ...one, ...manual }, { cloud: at, state, dns: leadingHere }));
    expect(hostsAt(at)).toEqual([HOST]);
    const host = { state: "live", validationRecord: { name: "_0123.orders" } };
    expect(next.stackOutputs["domains"]).toMatchObject({ [HOST]: host });
    const again = await success(
      update({ ...one, ...manual }, { cloud: at, state: next.state, dns: leadingHere }),
    );
    expect(operationOn(again, DOMAIN, "store-orders-production-orders-example-com-domain")).toBe("same");
  });

  test("is not refused for a stack of another name, or one that an earlier version deployed", async () => {
    for (const settings of [{ "store-orders:renamedFrom": "staging" }, {}]) {
      const { at, outcome: first } = await deployed({ ...one, ...settings }, issued);
      if (!("store-orders:renamedFrom" in settings))
        untag(at, first, ["store-orders:records", "store-orders:role"]);
      await success(update({ ...one, ...manual }, { cloud: at, preview: true, dns: leadingHere }));
    }
  });
});

describe("a change from Cloudflare to Route 53 while DNS asks Cloudflare", () => {
  const route53 = { "store-orders:dns": "route53" };
  const REFUSED = `${HOST}: this stack keeps its records, and would delete them with 'dns: route53'. Set 'dns' back, or follow infra/domains/README.md#hosts-at-route-53.`;

  test.each([
    ["is refused", one, atCloudflare],
    ["is refused if the query for the name servers fails", one, unanswered],
    ["is refused with a redirect to a host without a record", withDomains(swapped), atCloudflare],
  ])("%s before anything is changed, also in the preview", async (_case, config, dns) => {
    const { at, state } = await deployed(one, { hostedZones: ZONES });
    const errors = await refusalOf({ ...config, ...route53 }, at, state, dns);
    expect(errors).toContain(REFUSED);
    expect(errors.includes(`would redirect to ${NEXT}`)).toBe(config !== one);
  });

  test("succeeds after the documented steps, also twice, and keeps the record there", async () => {
    const { at, outcome: first } = await deployed(one, { hostedZones: ZONES });
    untag(at, first, ["store-orders:records"]);
    const state = withoutRoutes(first.state);
    const config = { ...one, ...route53 };
    const next = await success(update(config, { cloud: at, state, dns: atCloudflare }));
    await success(update(config, { cloud: at, state: next.state, dns: atCloudflare }));
    expect(hostsAt(at)).toEqual([HOST]);
    expect(at.recordSets().map(({ name }) => name)).toContain(HOST);
  });

  test("says nothing of records if the host has no zone any more", async () => {
    const { state } = await deployed(one);
    const here = cloud({ zones: [] });
    for (const { registration } of state.values())
      if (registration.type === DOMAIN) here.create(registration);
    const { errors } = await update(one, { cloud: here, state, preview: true, dns: leadingHere });
    expect(errors).toContain("the Cloudflare token can read no zone for this host");
    expect(errors).not.toContain("keeps its records");
  });

  test("is not refused for a host that leads elsewhere, or once DNS asks Route 53", async () => {
    await using asked = await startDnsServer(`
      example.com NS ns-1.awsdns-01.com
      ${HOST} CNAME ${target(HOST)}
      ${target(HOST)} A 192.0.2.1
    `);
    for (const dns of [leadingElsewhere, asked]) {
      const { at, state } = await deployed(one, { hostedZones: ZONES });
      await success(update({ ...one, ...route53 }, { cloud: at, state, preview: true, dns }));
    }
  });
});

describe("a live host that is to redirect to a host without a record", () => {
  const REFUSED = `${HOST}: it serves now, and would redirect to ${NEXT}, which is not live. Make that one an alias first, without 'hold'. Make it the primary, and ${HOST} a redirect to it, in an update after it is live.`;
  const at = cloud();
  const first = update(one, { cloud: at });
  const both = success(first).then(({ state }) =>
    success(update(withDomains({ primary: HOST, aliases: [NEXT] }), { cloud: at, state })),
  );
  const held = withDomains(swapped, { "store-orders:hold": [NEXT] });
  const refused = both.then(({ state }) => update(held, { cloud: at, state, preview: true }));
  const redirected = refused.then(async () =>
    success(update(withDomains(swapped), { cloud: at, state: (await both).state })),
  );

  test.each([
    ["is new", {}, [REFUSED]],
    ["is prepared under 'hold'", { "store-orders:hold": [NEXT] }, [REFUSED]],
  ] as const)("is refused if that one %s, before anything is changed", async (_case, more, problems) => {
    const { at: here, state } = await deployed(one);
    const lines = problems.map((problem) => `  ${problem}`);
    expect(await refusalOf(withDomains(swapped, more), here, state)).toBe(
      ["DNS is not ready for the domains:", ...lines].join("\n"),
    );
  });

  test("is refused if that one is live and gets under 'hold'", async () => {
    expect((await refused).errors).toContain(REFUSED);
  });

  test("becomes one once that one is live, and may stay one whatever becomes of that one", async () => {
    const { state, logs } = await redirected;
    expect(logs.filter(({ severity }) => severity > 1)).toEqual([]);
    expect(new Set(hostsAt(at))).toEqual(new Set([HOST, NEXT].flatMap((host) => [host, `_0123.${host}`])));
    await success(update(held, { cloud: at, state, preview: true }));
  });

  test("is refused if it redirects to another host now", async () => {
    const www = "www.example.com";
    const to = (primary: string, aliases: string[] = []) =>
      withDomains({ primary, aliases, redirects: [{ from: www, to: primary }] });
    const { at: here, state } = await deployed(to(HOST));
    const { errors } = await update(to(NEXT, [HOST]), { cloud: here, state, preview: true });
    expect(errors).toContain(`${www}: it serves now, and would redirect to ${NEXT}, which is not live.`);
    const both = withDomains({ primary: HOST, aliases: [NEXT], redirects: [{ from: www, to: HOST }] });
    const next = await success(update(both, { cloud: here, state }));
    await success(update(to(NEXT, [HOST]), { cloud: here, state: next.state }));
  });

  test("is none in a retry, after an update that has set only the record of the redirect", async () => {
    const route = "store-orders-production-api-example-com-route";
    const { at: whole, state } = await deployed(withDomains(swapped));
    const rest = cloud({ records: whole.records().filter(({ name }) => name !== NEXT) });
    for (const { registration } of state.values())
      if (registration.type === DOMAIN) rest.create(registration);
    const partial = new Map([...state].filter(([urn]) => !urn.endsWith(`::${route}`)));
    const { logs } = await success(update(withDomains(swapped), { cloud: rest, state: partial }));
    expect(logs.filter(({ severity }) => severity > 1)).toEqual([]);
    expect(hostsAt(rest)).toContain(NEXT);
  });

  test.each([
    ["", {}],
    ["as a redirect of which it did not say where it leads", { "store-orders:role": "redirect" }],
  ])("is only warned of if an earlier version deployed it %s: it may be one already", async (_case, tags) => {
    const { at: here, outcome: before, state } = await deployed(one);
    untag(here, before, ["store-orders:role", "store-orders:records"], tags);
    const outcome = await success(update(withDomains(swapped), { cloud: here, state, preview: true }));
    expect(messages(outcome, 2)).toEqual([REFUSED]);
  });

  test.each([
    ["leads to the stack", leadingHere, [REFUSED]],
    ["leads elsewhere", leadingElsewhere, []],
  ] as const)("is only warned of with DNS elsewhere, if its record %s", async (_case, dns, warnings) => {
    const here = cloud({ certificates: [{ host: HOST, status: "ISSUED" }] });
    const { state } = await success(update({ ...one, ...manual }, { cloud: here, dns }));
    const config = withDomains(swapped, manual);
    const outcome = await success(update(config, { cloud: here, state, dns, preview: true }));
    expect(messages(outcome, 2)).toEqual(warnings);
  });
});

describe("closePlatformHost", () => {
  const NOT_LIVE = (host: string) => `store-orders:closePlatformHost: ${host} is not served yet`;

  test("is refused while only an alias is live", async () => {
    const { at, state } = await deployed(one);
    const config = withDomains({ primary: NEXT, aliases: [HOST] }, closed);
    const outcome = await update(config, { cloud: at, state, preview: true });
    expect(outcome.errors).toContain(NOT_LIVE(NEXT));
  });

  test("is refused if the primary host has its record in a zone that DNS asks nobody for", async () => {
    const at = cloud({ hostedZones: ZONES });
    const config = { ...one, "store-orders:dns": "route53" };
    const { state } = await success(update(config, { cloud: at }));
    await using nobody = await startDnsServer("example.net NS ns.example.net");
    for (const [dns, refusals] of [
      [nobody, 1],
      [leadingHere, 0],
      [leadingElsewhere, 0],
    ] as const) {
      const outcome = await update({ ...config, ...closed }, { cloud: at, state, preview: true, dns });
      expect(outcome.errors.split(NOT_LIVE(HOST))).toHaveLength(refusals + 1);
    }
  });

  test.each([
    ["leads to the stack", leadingHere, 0],
    ["cannot be looked up", failing, 0],
    ["leads elsewhere", leadingElsewhere, 1],
  ] as const)("of a record that is adopted, and %s", async (_case, dns, refusals) => {
    const { at, state } = await deployed(one);
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
