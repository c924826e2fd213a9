import { RECORD_TTL } from "../records.ts";
import { type CnameChain, followCnames } from "./cname-chain.ts";
import { isProxyAddress } from "./proxy-ranges.ts";
import {
  type Checked,
  DNS_FAILURES,
  expectedRecord,
  type Reason,
  type ReasonCode,
  setRecord,
} from "./reasons.ts";
import { type DnsFailure, type DnsResolver, recordsIn } from "./resolver.ts";

/** Finds every reason why the records of a host do not lead to the platform. None where they do. */
export async function checkRecords(ask: DnsResolver, checked: Checked): Promise<readonly Reason[]> {
  const { host, target } = checked;
  const chain = await followCnames(ask, host);
  const [, pointsTo] = chain.names;
  // What lies behind the right target is the platform's business.
  if (pointsTo === target) return [];
  if (pointsTo !== undefined) return explainWrongTarget(checked, chain);
  if (chain.end === "silent") return [await explainFailure(ask, checked, chain.why ?? "malformed")];
  if (chain.end === "nxdomain") return explainMissing(ask, checked, "NXDOMAIN: the name does not exist");

  const [v4, v6, ns] = await Promise.all([ask(host, "A"), ask(host, "AAAA"), ask(host, "NS")]);
  // A host with name servers of its own is a zone, whatever the public suffix list says, and has no CNAME.
  const here = ns.outcome === "found" ? { ...checked, zone: host, label: "@", apex: true } : checked;
  const addresses = [...recordsIn(v4), ...recordsIn(v6)];
  if (addresses.length > 0)
    return here.apex ? compareAddresses(ask, here, addresses) : [explainBlockingAddress(here, addresses)];
  const [why] = [v4, v6].flatMap((answer) => (answer.outcome === "silent" ? [answer.why] : []));
  if (why !== undefined) return [await explainFailure(ask, here, why)];
  return explainMissing(ask, here, "no such record, though the name exists");
}

function explainWrongTarget(checked: Checked, chain: CnameChain): readonly Reason[] {
  const { zone, label, target } = checked;
  const way = chain.names.slice(1).join(" → ");
  const fix = `At the DNS provider of ${zone}, change the value of the CNAME record ${label} to ${target}.`;
  return chain.end === "endless"
    ? [reason(checked, "cname_loop", `CNAME ${way}`, fix)]
    : [reason(checked, "wrong_target", `CNAME ${way}`, fix)];
}

async function explainMissing(ask: DnsResolver, checked: Checked, found: string): Promise<readonly Reason[]> {
  const gone = reason(checked, "record_missing", found, setRecord(checked));
  const { outcome } = await ask(checked.zone, "NS");
  return outcome === "nxdomain" ? [notDelegated(checked), gone] : [gone];
}

function notDelegated(checked: Checked): Reason {
  const { zone } = checked;
  return {
    ...reason(checked, "zone_not_delegated", `NXDOMAIN: ${zone} does not exist in DNS`, ""),
    name: zone,
    expected: `name servers for ${zone}`,
    fix: `Check that ${zone} is registered and not expired, and enter its DNS provider's name servers at the registrar.`,
  };
}

/**
 * A question that nobody answered. Where the zone fails even for its own name servers while its parent answers,
 * the zone is at fault; everything else may be the resolver's, and says nothing about the domain.
 */
async function explainFailure(ask: DnsResolver, checked: Checked, why: DnsFailure): Promise<Reason> {
  const { zone } = checked;
  if (why === "servfail") {
    const parent = zone.slice(zone.indexOf(".") + 1);
    const [own, above] = await Promise.all([ask(zone, "NS"), ask(parent, "NS")]);
    if (own.outcome === "nxdomain") return notDelegated(checked);
    if (own.outcome === "silent" && own.why === "servfail" && above.outcome !== "silent") {
      return {
        ...reason(checked, "zone_lame", `SERVFAIL for ${zone}, while ${parent} answers`, ""),
        name: zone,
        expected: `an answer from the name servers of ${zone}`,
        fix: `Compare the name servers of ${zone} at the registrar with those that its DNS provider names, and check its DNSSEC records there.`,
      };
    }
  }
  return unanswered(checked, checked.host, why);
}

function unanswered(checked: Checked, name: string, why: DnsFailure): Reason {
  const fix = `Try again, or ask another resolver. If it stays so, check the name servers of ${checked.zone}.`;
  return { ...reason(checked, "dns_silent", `${name}: ${DNS_FAILURES[why]}`, fix), name };
}

function explainBlockingAddress(checked: Checked, addresses: readonly string[]): Reason {
  const { zone, label, target } = checked;
  if (addresses.some(isProxyAddress)) return explainProxied(checked, addresses);
  const fix = `At the DNS provider of ${zone}, remove the ${typesOf(addresses)} of ${label}, then add a CNAME record: name ${label}, value ${target}, TTL ${RECORD_TTL}.`;
  return reason(checked, "address_in_the_way", addressText(addresses), fix);
}

function explainProxied(checked: Checked, addresses: readonly string[]): Reason {
  const { label, target } = checked;
  const fix = `At Cloudflare, set the record ${label} to "DNS only" and check that its value is ${target}.`;
  return reason(checked, "proxied", `${addressText(addresses)} (Cloudflare's proxy)`, fix);
}

/** An apex shows addresses alone, so they are compared with those of the platform at the same time. */
async function compareAddresses(
  ask: DnsResolver,
  checked: Checked,
  addresses: readonly string[],
): Promise<readonly Reason[]> {
  const { target, zone } = checked;
  const answers = await Promise.all([ask(target, "A"), ask(target, "AAAA")]);
  const platform = new Set<string>(answers.flatMap((answer) => recordsIn<"A" | "AAAA">(answer)));
  const strays = addresses.filter((address) => !platform.has(address));
  if (strays.length === 0) return [];
  const [why] = answers.flatMap((answer) => (answer.outcome === "silent" ? [answer.why] : []));
  if (why !== undefined) return [unanswered(checked, target, why)];
  if (platform.size === 0) {
    const fix = `Check that ${target} is the platform host, exactly.`;
    return [{ ...reason(checked, "target_missing", `${target} has no address`, fix), name: target }];
  }
  const expected = `${expectedRecord(checked)} (${[...platform].join(", ")})`;
  if (strays.length < addresses.length) {
    const fix = `At the DNS provider of ${zone}, remove the ${typesOf(strays)} for ${strays.join(", ")}.`;
    return [{ ...reason(checked, "stray_address", addressText(strays), fix), expected }];
  }
  if (strays.some(isProxyAddress)) return [{ ...explainProxied(checked, strays), expected }];
  const fix = `Remove the address records of ${checked.host}. ${setRecord(checked)}`;
  return [{ ...reason(checked, "wrong_target", addressText(strays), fix), expected }];
}

function addressText(addresses: readonly string[]): string {
  return addresses.map((address) => `${typeOf(address)} ${address}`).join(", ");
}

function typesOf(addresses: readonly string[]): string {
  const types = [...new Set(addresses.map(typeOf))];
  return `${types.join(" and ")} ${addresses.length === 1 ? "record" : "records"}`;
}

function typeOf(address: string): "A" | "AAAA" {
  return address.includes(":") ? "AAAA" : "A";
}

function reason(checked: Checked, code: ReasonCode, found: string, fix: string): Reason {
  const { host } = checked;
  return { code, host, name: host, found, expected: expectedRecord(checked), fix };
}
