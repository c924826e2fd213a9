import fc from "fast-check";
import { expect, test } from "vitest";
import { verifyHost } from "../../../lib/domains/status/verify.ts";
import {
  type DnsAnswer,
  type DnsResolver,
  memoizeResolver,
} from "../../../lib/domains/verification/resolver.ts";

/** `NAME TYPE VALUE` of each record. */
type Zone = readonly string[];
type Ask = (name: string, type: string) => DnsAnswer;

/** A name server: wildcards, names that exist only because of others below them (RFC 4592). */
function serve(zone: Zone): Ask {
  const records = zone.map((line) => line.split(" ") as [name: string, type: string, value: string]);
  const exists = (name: string) => records.some(([owner]) => owner === name || owner.endsWith(`.${name}`));
  const parentOf = (name: string) => name.slice(name.indexOf(".") + 1);
  const ownerOf = (name: string) => {
    if (exists(name)) return name;
    let above = parentOf(name);
    while (!exists(above) && above.includes(".")) above = parentOf(above);
    return `*.${above}`;
  };
  const valuesOf = (name: string, type: string) => {
    const owner = ownerOf(name);
    return records.filter((record) => record[0] === owner && record[1] === type).map(([, , value]) => value);
  };
  const ask = (name: string, type: string, depth = 0): DnsAnswer => {
    const [cname] = valuesOf(name, "CNAME");
    const own = valuesOf(name, type);
    if (own.length > 0 || (type === "CNAME" && cname !== undefined)) {
      const values = type === "CNAME" && cname !== undefined ? [cname] : own;
      return { outcome: "found", records: values, direct: true } as DnsAnswer;
    }
    if (cname !== undefined) {
      const behind: DnsAnswer =
        depth > 9 ? { outcome: "failed", reason: "servfail" } : ask(cname, type, depth + 1);
      if (behind.outcome !== "found") return behind;
      const isShown = type === "A" || type === "AAAA" || type === "CAA";
      return isShown ? ({ ...behind, direct: false } as DnsAnswer) : { outcome: "nodata" };
    }
    return { outcome: exists(ownerOf(name)) ? "nodata" : "nxdomain" };
  };
  return ask;
}

const TARGET = "t.platform.net";
const OURS = ["198.51.100.1", "198.51.100.2"];
const COMMON = [
  "com SOA ns.com",
  "net SOA ns.net",
  "platform.net SOA n1.platform.net",
  "platform.net NS n1.platform.net",
  "platform.net NS n2.platform.net",
  "n1.platform.net A 192.0.2.51",
  "n2.platform.net A 192.0.2.52",
  "shop.com SOA n1.shop.com",
  "shop.com NS n1.shop.com",
  "shop.com NS n2.shop.com",
  "n1.shop.com A 192.0.2.51",
  "n2.shop.com A 192.0.2.52",
  "old.host.net A 192.0.2.1",
];

const name = fc.constantFrom(
  "www.shop.com",
  "www.shop.com",
  "shop.com",
  "*.shop.com",
  "sub.shop.com",
  "a.sub.shop.com",
  "*.sub.shop.com",
  "_x.www.shop.com",
  "www.shop.com.shop.com",
  "a.sub.shop.com.shop.com",
);
const address = fc.constantFrom(...OURS, "192.0.2.1", "192.0.2.9", "104.16.1.1", "10.0.0.1");
const cname = fc.constantFrom(TARGET, "old.host.net", "www.shop.com", `${TARGET}.shop.com`, "gone.host.net");
const data = fc.oneof(
  address.map((value) => `A ${value}`),
  fc.constantFrom("2001:db8::1", "2001:db8::9").map((value) => `AAAA ${value}`),
  cname.map((value) => `CNAME ${value}`),
  fc.constantFrom("TXT proof", "MX mx.host.net"),
);
const records = fc
  .array(fc.tuple(name, data), { maxLength: 6 })
  .map((own) => own.map((parts) => parts.join(" ")))
  // No server loads a CNAME of an apex, or two CNAMEs of a name. Other records beside a CNAME occur.
  .map((lines) => lines.filter((line) => !line.startsWith("shop.com CNAME")))
  .map((lines) => lines.filter((line, index) => isFirstCname(lines, line, index)));

function isFirstCname(lines: Zone, line: string, index: number): boolean {
  const [owner, type] = line.split(" ");
  return type !== "CNAME" || !lines.slice(0, index).some((other) => other.startsWith(`${owner} CNAME`));
}

const platform = fc.subarray([...OURS.map((value) => `${TARGET} A ${value}`), `${TARGET} AAAA 2001:db8::1`]);

const typesOf = (lines: Zone) => lines.map((line) => line.split(" ")[1]);

/** The forms of advice that name a record: its type, its name, and addresses to remove. */
const ADVICE: readonly RegExp[] = [
  /remove the (?<types>A|AAAA|A and AAAA) records? of (?<name>\S+) \((?<addresses>[^)]+)\)/,
  /change the value of the (?<types>CNAME) record (?<name>\S+) to/,
  /rename the (?<types>CNAME) record (?<name>\S+) to/,
  /allows no other record of (?<name>\S+): move its (?<types>[TXMand ]+?) records/,
];
/** Every word with which a fix could name another record to change. */
const CHANGES = /\b(remove|rename|delete|change|move)\b/i;
const HARMLESS = /Remove (nothing|no address) before you know|remove the record \S+ at the DNS provider/g;

test("whatever a zone holds, no advice names a record that is not there, and nothing right is to be deleted", async () => {
  const host = fc.constantFrom("www.shop.com", "www.shop.com", "a.sub.shop.com", "shop.com");
  const server = fc.tuple(records, platform);
  const forms = new Set<RegExp>();
  await fc.assert(
    fc.asyncProperty(host, server, fc.option(server), async (name, one, other) => {
      // The resolver asks the first server. A type of address that it never shows is not known to exist.
      const shown = typesOf(one[1]);
      fc.pre(other === null || typesOf(other[1]).every((type) => shown.includes(type)));
      const zones = [one, other ?? one].map(([own, target]) => [...COMMON, ...own, ...target]);
      const servers = zones.map(serve);
      const asResolver = (ask: Ask | undefined) =>
        (async (queried: string, type: string) => ask?.(queried, type)) as unknown as DnsResolver;
      const at = ([address]: readonly string[]) => asResolver(servers[address === "192.0.2.51" ? 0 : 1]);
      const resolver = memoizeResolver(Object.assign(asResolver(servers[0]), { at }));
      const { reasons } = await verifyHost(name, { resolver, target: TARGET });
      for (const { fix } of reasons) checkAdvice(fix, zones.flat(), forms);
    }),
    { numRuns: 2000, seed: 46 },
  );
  // Every form of advice has occurred.
  expect(forms.size).toBe(ADVICE.length);
});

/** A record is named only if one of the servers has it: the answer of a wildcard is not a record of the name. */
function checkAdvice(fix: string, records: Zone, forms: Set<RegExp>) {
  const valuesOf = (name: string, type: string) =>
    records
      .map((line) => line.split(" "))
      .flatMap(([owner, has, value]) => (owner === name && has === type ? [value] : []));
  const zone = /At the DNS provider of ([^ ,]+)/.exec(fix)?.[1] ?? "shop.com";
  let rest = fix.replace(HARMLESS, "");
  for (const form of ADVICE) {
    const match = form.exec(fix);
    if (match === null) continue;
    forms.add(form);
    rest = rest.replace(match[0], "");
    const { types = "", name = "", addresses } = match.groups ?? {};
    const owner = name === "@" ? zone : name.endsWith(".com") ? name : `${name}.${zone}`;
    const values = types.split(" and ").map((type) => valuesOf(owner, type));
    expect(values, `${fix} ${owner}`).not.toContainEqual([]);
    for (const each of addresses?.split(", ") ?? []) {
      expect(values.flat(), fix).toContain(each);
      expect([...valuesOf(TARGET, "A"), ...valuesOf(TARGET, "AAAA")], fix).not.toContain(each);
    }
  }
  expect(rest, fix).not.toMatch(CHANGES);
}
