import { RECORD_TTL_SECONDS } from "../records.ts";
import { findApexRecord } from "./apex-record.ts";
import { checkTarget, explainMissingTarget } from "./check-target.ts";
import { type CnameChain, followCnames } from "./cname-chain.ts";
import { describeMissingRecord, describeWrongValue } from "./completed-names.ts";
import { isProxyAddress } from "./proxy-ranges.ts";
import {
  type CheckedHost,
  describeApexAddresses,
  describeExpectedRecord,
  describeRecordToAdd,
  explainUnanswered,
  type Reason,
  type ReasonCode,
} from "./reasons.ts";
import { type DnsFailure, type DnsResolver, firstFailure, recordsIn } from "./resolver.ts";
import { explainWildcard } from "./wildcard.ts";

/** The records of a host: every reason why they do not point to the platform, and what is set if they do. */
export interface RecordCheck {
  readonly reasons: readonly Reason[];
  /** Present only if the records point to the platform. */
  readonly found?: string;
}

/** Finds out whether the records of a host point to the platform. */
export async function checkRecords(resolver: DnsResolver, checked: CheckedHost): Promise<RecordCheck> {
  const { host, target } = checked;
  const chain = await followCnames(resolver, host);
  const [, pointsTo] = chain.names;
  if (pointsTo === target) {
    const [mixed, { reasons, unchecked }] = await Promise.all([
      explainMixedRecords(resolver, checked),
      checkTarget(resolver, checked),
    ]);
    const found = [`CNAME ${target}`, unchecked].filter(Boolean).join("; ");
    return { reasons: [...mixed, ...reasons], found };
  }
  if (pointsTo !== undefined) {
    const wrong = explainWrongTarget(checked, chain);
    const mixed = await explainMixedRecords(resolver, checked);
    return { reasons: [...mixed, await explainWildcard(resolver, checked, wrong, [pointsTo])] };
  }
  if (chain.failure !== undefined)
    return { reasons: [await explainFailure(resolver, checked, chain.failure)] };
  if (chain.end === "nxdomain") {
    return { reasons: await explainMissing(resolver, checked, "NXDOMAIN: the name does not exist") };
  }

  const [v4, v6, ns] = await Promise.all([resolver(host, "A"), resolver(host, "AAAA"), resolver(host, "NS")]);
  // A host with its own name servers is a zone, whatever the public suffix list says, and cannot have a CNAME.
  const zone = { zone: host, label: "@", apex: true, apexRecord: findApexRecord(recordsIn(ns)) };
  const here = ns.outcome === "found" ? { ...checked, ...zone } : checked;
  const addresses = [...recordsIn(v4), ...recordsIn(v6)];
  if (addresses.length > 0) {
    if (here.apex) return compareAddresses(resolver, here, addresses);
    const blocking = explainBlockingAddress(here, addresses);
    return { reasons: [await explainWildcard(resolver, here, blocking, addresses)] };
  }
  const failure = firstFailure([v4, v6]);
  if (failure !== undefined) return { reasons: [await explainFailure(resolver, here, failure)] };
  const missing = "no such record, although the name exists";
  return { reasons: await explainMissing(resolver, here, missing) };
}

function explainWrongTarget(checked: CheckedHost, chain: CnameChain): Reason {
  const found = `CNAME ${chain.names.slice(1).join(" → ")}`;
  const fix = describeWrongValue(checked, chain.names[1]);
  return createReason(checked, chain.end === "loop" ? "cname_loop" : "wrong_target", found, fix);
}

async function explainMissing(
  resolver: DnsResolver,
  checked: CheckedHost,
  found: string,
): Promise<readonly Reason[]> {
  const fix = await describeMissingRecord(resolver, checked);
  const missing = createReason(checked, "record_missing", found, fix);
  const { outcome } = await resolver(checked.zone, "NS");
  return outcome === "nxdomain" ? [explainNotDelegated(checked), missing] : [missing];
}

function explainNotDelegated(checked: CheckedHost): Reason {
  const { zone } = checked;
  return {
    ...createReason(checked, "zone_not_delegated", `NXDOMAIN: ${zone} does not exist in DNS`, ""),
    name: zone,
    expected: `name servers for ${zone}`,
    fix: `Check that ${zone} is registered and has not expired, and enter its DNS provider's name servers at the registrar.`,
  };
}

/**
 * Explains a failed lookup. If the lookup of the zone fails while its parent answers, the zone is at fault. Every
 * other failure may be the resolver's and says nothing about the domain.
 */
async function explainFailure(
  resolver: DnsResolver,
  checked: CheckedHost,
  failure: DnsFailure,
): Promise<Reason> {
  const { zone } = checked;
  if (failure === "servfail") {
    const parent = zone.slice(zone.indexOf(".") + 1);
    const [own, above] = await Promise.all([resolver(zone, "NS"), resolver(parent, "NS")]);
    if (own.outcome === "nxdomain") return explainNotDelegated(checked);
    if (own.outcome === "failed" && own.reason === "servfail" && above.outcome !== "failed") {
      return {
        ...createReason(checked, "zone_lame", `SERVFAIL for ${zone}, while ${parent} answers`, ""),
        name: zone,
        expected: `an answer from the name servers of ${zone}`,
        fix: `Check that the registrar lists the name servers of the DNS provider of ${zone}, and that its DNSSEC records match.`,
      };
    }
  }
  return explainUnanswered(checked, checked.host, failure);
}

function explainBlockingAddress(checked: CheckedHost, addresses: readonly string[]): Reason {
  const { zone, label, target } = checked;
  if (addresses.some(isProxyAddress)) return explainProxied(checked, addresses);
  const fix = `At the DNS provider of ${zone}, remove the ${formatTypes(addresses)} of ${label}, then add a CNAME record: name ${label}, value ${target}, TTL ${RECORD_TTL_SECONDS}.`;
  return createReason(checked, "blocking_address", formatAddresses(addresses), fix);
}

/**
 * Explains address records beside a CNAME. DNS forbids them, but the name servers of a zone can disagree while it is
 * being moved: some visitors then reach the addresses.
 */
async function explainMixedRecords(resolver: DnsResolver, checked: CheckedHost): Promise<readonly Reason[]> {
  const { host, zone, label } = checked;
  const answers = await Promise.all([resolver(host, "A"), resolver(host, "AAAA")]);
  const own = answers.flatMap((answer) =>
    answer.outcome === "found" && answer.direct === true ? answer.records : [],
  );
  if (own.length === 0) return [];
  const found = `${formatAddresses(own)}, beside a CNAME`;
  const fix = `At the DNS provider of ${zone}, remove the ${formatTypes(own)} of ${label} and keep the CNAME record. If there is none, another name server of ${zone} has it: let the registrar list only the name servers of one provider.`;
  return [createReason(checked, "blocking_address", found, fix)];
}

function explainProxied(checked: CheckedHost, addresses: readonly string[]): Reason {
  const { label, target } = checked;
  const fix = `At Cloudflare, set the record ${label} to "DNS only" and check that its value is ${target}.`;
  return createReason(checked, "proxied", `${formatAddresses(addresses)} (Cloudflare's proxy)`, fix);
}

/** An apex returns only addresses, so they are compared with the platform's at the same time. */
async function compareAddresses(
  resolver: DnsResolver,
  checked: CheckedHost,
  addresses: readonly string[],
): Promise<RecordCheck> {
  const { target } = checked;
  const answers = await Promise.all([resolver(target, "A"), resolver(target, "AAAA")]);
  const platform = answers.flatMap((answer) => recordsIn<"A" | "AAAA">(answer));
  const strays = addresses.filter((address) => !platform.includes(address));
  if (strays.length === 0) {
    return { reasons: [], found: describeApexAddresses(checked, formatAddresses(addresses)) };
  }
  const failure = firstFailure(answers);
  if (failure !== undefined) return { reasons: [explainUnanswered(checked, target, failure)] };
  if (platform.length === 0) {
    return { reasons: [explainMissingTarget(checked, `${target} has no A or AAAA record`)] };
  }
  const expected = `${describeExpectedRecord(checked)} (${platform.join(", ")})`;
  return { reasons: [{ ...explainStrays(checked, strays, strays.length < addresses.length), expected }] };
}

function explainStrays(checked: CheckedHost, strays: readonly string[], hasOthers: boolean): Reason {
  const { host, zone } = checked;
  const found = formatAddresses(strays);
  if (hasOthers) {
    const fix = `At the DNS provider of ${zone}, remove the ${formatTypes(strays)} for ${strays.join(", ")}.`;
    return createReason(checked, "stray_address", found, fix);
  }
  if (strays.some(isProxyAddress)) return explainProxied(checked, strays);
  const fix = `Remove the address records of ${host}. ${describeRecordToAdd(checked)}`;
  return createReason(checked, "wrong_target", found, fix);
}

function formatAddresses(addresses: readonly string[]): string {
  return addresses.map((address) => `${typeOf(address)} ${address}`).join(", ");
}

function formatTypes(addresses: readonly string[]): string {
  const types = [...new Set(addresses.map(typeOf))];
  return `${types.join(" and ")} ${addresses.length === 1 ? "record" : "records"}`;
}

function typeOf(address: string): "A" | "AAAA" {
  return address.includes(":") ? "AAAA" : "A";
}

function createReason(checked: CheckedHost, code: ReasonCode, found: string, fix: string): Reason {
  const { host } = checked;
  return { code, host, name: host, found, expected: describeExpectedRecord(checked), fix };
}
