import { readdirSync, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { readStackDomains } from "../../lib/cli/stack-outputs.ts";
import type { InvalidInputError } from "../../lib/core/errors.ts";
import { describeManualHost, type StackHost, type StackStatus } from "../../lib/domains/status/steps.ts";

const read = (outputs: unknown) =>
  readStackDomains("-", {
    input: Readable.from([Buffer.from(JSON.stringify(outputs))]) as typeof process.stdin,
  });

const HOST = "orders.eu.example.com";
const VALUE = "d-a1b2c3.execute-api.eu-central-1.amazonaws.com";
const VALIDATION = { name: "_a1.orders", zone: "eu.example.com", value: "_b2.acm-validations.aws" };
const FULL_VALIDATION = { name: `_a1.${HOST}`, value: VALIDATION.value };

/** What the oldest and the present layout have of a host before and after its certificate was issued. */
const RECORD = { zone: "eu.example.com", type: "CNAME", name: "orders", ttl: 3600 };
const LIVE = { role: "primary", state: "live", reason: "The record points to the API.", next: [] };
const AWAITED = {
  ...{ role: "primary", state: "pending_dns", reason: "ACM waits for it.", next: ["Set it."] },
  ...{ since: "2026-11-20T12:00:00Z", until: "2026-11-23T12:00:00Z" },
};
const VALIDATION_RECORD = { type: "CNAME", ttl: 3600, ...VALIDATION };
const LAYOUTS = {
  "a state and records, without their zone": [
    {
      ...{ role: "primary", state: "pending_dns", record: { type: "ALIAS", name: "@", ttl: 3600 } },
      validationRecord: { type: "CNAME", ...FULL_VALIDATION },
    },
    { role: "primary", state: "live", record: { type: "CNAME", name: "orders", ttl: 3600, value: VALUE } },
  ],
  "who sets the records, and a field that is not known here": [
    { ...AWAITED, dns: "manual", of: "later", record: RECORD, validationRecord: VALIDATION_RECORD },
    { ...LIVE, dns: "route53", record: { ...RECORD, value: VALUE }, validationRecord: VALIDATION_RECORD },
  ],
} as const;

type Outputs = Readonly<Record<string, Omit<StackHost, "dns">>>;

/** By commit: what its program has output in the test engine, by the step of a deployment and by host. */
const RECORDED = readdirSync(new URL("stack-outputs", import.meta.url)).map((file) => {
  const text = readFileSync(new URL(`stack-outputs/${file}`, import.meta.url), "utf8");
  return [file, JSON.parse(text) as Readonly<Record<string, Outputs>>] as const;
});

describe.each(RECORDED)("the outputs of an earlier stack, recorded in %s,", (_file, byStep) => {
  const statesOf = (outputs: Outputs = {}) => Object.values(outputs).map(({ state }) => state);

  test("have a host in each state", () => {
    const { requested, validated, issued, live, cloudflare } = byStep;
    expect([requested, validated, issued, live, cloudflare].map(statesOf)).toEqual([
      ["pending_dns", "pending_dns"],
      ["pending_dns", "certificate_pending"],
      ["needs_attention", "pending_dns"],
      ["needs_attention", "live"],
      ["live", "live"],
    ]);
  });

  test.each(Object.entries(byStep))("of the step '%s' are read", async (_step, outputs) => {
    const { hosts, knownZones } = await read({ domains: outputs });
    const expected = Object.entries(outputs).map(([host, { role, record, validationRecord, ...stack }]) => {
      const { name, zone, value } = validationRecord ?? {};
      const known = name && { validationRecord: { name: `${name}.${zone}`, value } };
      return { host, role, target: record.value, ...known, stack };
    });
    expect(hosts).toEqual(expected);
    expect(knownZones).toEqual(Object.values(outputs).map(({ record }) => record.zone));
  });
});

describe("the outputs of a stack", () => {
  test.each(Object.entries(LAYOUTS))("with %s are read", async (_name, [before, after]) => {
    for (const wrap of [(host: object) => ({ domains: host }), (host: object) => host]) {
      const [early, late] = [await read(wrap({ [HOST]: before })), await read(wrap({ [HOST]: after }))];
      expect(early.hosts).toMatchObject([{ host: HOST, role: "primary", target: undefined }]);
      expect(late.hosts).toMatchObject([{ host: HOST, role: "primary", target: VALUE }]);
      expect(late.knownZones).toEqual(["eu.example.com"]);
      const { reason, state, dns } = { reason: undefined, dns: undefined, ...before };
      const stack = { reason, state, ...(dns && { dns }) };
      expect(early.hosts[0]?.stack).toEqual(reason && expect.objectContaining(stack));
      expect(late.hosts[0]?.stack?.dns).toBe("dns" in after ? after.dns : undefined);
      // The oldest layout has no zone, so its name is not known to be a full one.
      const isKnown = "zone" in before.validationRecord;
      expect(early.hosts[0]?.validationRecord).toEqual(isKnown ? FULL_VALIDATION : undefined);
    }
  });

  test.each<[string, StackStatus]>([
    ["an awaited certificate", describeManualHost({ ...requested(), isPrepared: false })],
    ["a rejected one", describeManualHost({ ...requested(), isPrepared: false, certificate: "FAILED" })],
    ["an expired one", describeManualHost({ ...requested(), isPrepared: true, certificate: "EXPIRED" })],
    [
      "a host with its record",
      describeManualHost({ ...requested(), isPrepared: true, seen: { dns: "ok", reasons: [] } }),
    ],
  ])("say of %s what is read back", async (_name, written) => {
    const outputs = {
      [HOST]: { role: "primary", ...written, record: { name: "orders", zone: "eu.example.com" } },
    };
    const { hosts } = await read(JSON.parse(JSON.stringify(outputs)));
    expect(hosts[0]?.stack).toEqual(written);
  });
});

test("the zone of a host is named, or is what its record's name leaves of it", async () => {
  const zones = async (record: object) =>
    (await read({ "a.example.com": { role: "primary", record } })).knownZones;
  expect(await zones({ zone: "a.example.com", name: "@" })).toEqual(["a.example.com"]);
  expect(await zones({ zone: "example.net", name: "a" })).toEqual([]);
  expect(await zones({ name: "a" })).toEqual(["example.com"]);
  expect(await zones({ name: "@" })).toEqual(["a.example.com"]);
  expect(await zones({ name: "b" })).toEqual([]);
});

test("what is no output of a stack is rejected, with the place of each problem", async () => {
  const host = (record: unknown, role = "primary") => ({ role, record });
  const problemsOf = (outputs: unknown) =>
    read(outputs).then(
      () => expect.fail("it is accepted"),
      ({ issues }: InvalidInputError) => issues.map(({ path, message }) => `${path}: ${message}`),
    );
  const hint = "--stack: Pass what 'npx pulumi stack output domains --json' prints.";
  const wrong = {
    ...{ "a.example.com": host({ name: "a" }, "boss"), "b.example.com": host("[secret]") },
    ...{ "c.example.com": host({ name: 5, value: 7 }), "d.example.com": { state: "lively" } },
    ...{ "e.example.com": host({ name: "e", value: "https://x/" }), "no host": host({ name: "f" }) },
  };
  expect(await problemsOf(wrong)).toEqual([
    hint,
    expect.stringMatching(/^a\.example\.com\.role: Invalid option: expected one of/),
    "b.example.com.record: Invalid input: expected object, received string.",
    "c.example.com.record.name: Invalid input: expected string, received number.",
    "c.example.com.record.value: Invalid input: expected string, received number.",
    expect.stringMatching(/^d\.example\.com\.state: /),
    expect.stringMatching(/^d\.example\.com\.role: /),
    expect.stringMatching(/^d\.example\.com\.record: /),
    expect.stringMatching(/^e\.example\.com\.record\.value: This is a URL\./),
    expect.stringMatching(/^no host: A hostname cannot contain " "\./),
  ]);
  const noHosts = hint.replace(":", ": This is not an object with the hosts.");
  expect(await problemsOf("https://orders.example.com")).toEqual([noHosts]);
});

function requested() {
  return { host: HOST, reverify: 0, requestedAt: "2026-11-20T12:00:00Z" };
}
