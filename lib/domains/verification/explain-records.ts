/** The reasons why the records of a host are wrong, in words: found, expected, and the fix. Pure. */
import { formatDuration } from "../../core/text.ts";
import { RECORD_TTL_SECONDS } from "../records.ts";
import { locateInZone, registrableDomainOf } from "../zone.ts";
import type { ApexRecord } from "./providers.ts";
import { DNS_FAILURES, type HostCheckInput, type Reason, type ReasonCode } from "./reasons.ts";
import type { CnameChain, DnsFailure } from "./resolver.ts";

/** The host has no record. `completed`: its full name was completed with the zone, as many providers do. */
export function missingRecord(
  input: HostCheckInput,
  found: string,
  { completed, nameServers }: { readonly completed: boolean; readonly nameServers: readonly string[] },
): Reason {
  const { host, zone, label } = input;
  const rename = `At the DNS provider of ${zone}, rename the CNAME record ${host}.${zone} to ${label}: the provider appends the zone to the name.`;
  const servers = nameServers.join(", ");
  const delegation =
    servers === ""
      ? ""
      : ` DNS asks ${servers} for ${zone}: if your provider's name servers are others, ${enterNameServers(input)}.`;
  const fix = `${completed ? rename : describeRecordToAdd(input)}${delegation}`;
  return createReason(input, "record_missing", found, fix);
}

/** The delegation is a matter of the registrar, or of the zone above. */
function enterNameServers({ zone }: HostCheckInput): string {
  return registrableDomainOf(zone) === zone
    ? "enter those at the registrar"
    : `set those as the NS records of ${zone} in the zone above`;
}

/** The zone's own name servers have the right record, the resolver has an old answer. */
export function outdated(
  input: HostCheckInput,
  reasons: readonly Reason[],
  secondsLeft: number | undefined,
): Reason {
  const found = `${reasons[0]?.found}; the name servers of ${input.zone} have the record`;
  const fix = `Nothing is left to do at the DNS provider. ${describeMemory(secondsLeft)}.`;
  return createReason(input, "answer_outdated", found, fix);
}

/** The zone's own name servers have another answer than the resolver. */
export function outdatedNote({ zone }: HostCheckInput, secondsLeft: number | undefined): string {
  return `This is what the name servers of ${zone} answer now. ${describeMemory(secondsLeft)}.`;
}

function describeMemory(secondsLeft: number | undefined): string {
  const time =
    secondsLeft === undefined ? "for a while" : `for another ${formatDuration(secondsLeft * 1000)}`;
  return `Your resolver remembers the old answer ${time}`;
}

/** The host has a CNAME with another target. Many providers complete a value without a trailing dot. */
export function wrongCname(input: HostCheckInput, { names, end }: CnameChain): Reason {
  const { zone, label, target } = input;
  const hint =
    names[1] === `${target}.${zone}` ? " End it with a dot: the provider has appended the zone." : "";
  const fix = `At the DNS provider of ${zone}, change the value of the CNAME record ${label} to ${target}.${hint}`;
  const found = `CNAME ${names.slice(1).join(" → ")}`;
  return createReason(input, end === "loop" ? "cname_loop" : "wrong_target", found, fix);
}

/** The host has addresses, so that it cannot have the CNAME that it needs. */
export function blockingAddresses(input: HostCheckInput, addresses: readonly string[]): Reason {
  const { zone, label, target } = input;
  const fix = `At the DNS provider of ${zone}, remove the ${formatTypes(addresses)} of ${label}, then add a CNAME record: name ${label}, value ${target}, TTL ${RECORD_TTL_SECONDS}.`;
  return createReason(input, "blocking_address", formatAddresses(addresses), fix);
}

/** The host has addresses beside its CNAME: some visitors reach them. */
export function mixedRecords(input: HostCheckInput, addresses: readonly string[]): Reason {
  const { zone, label } = input;
  const found = `${formatAddresses(addresses)}, beside a CNAME`;
  const fix = `At the DNS provider of ${zone}, remove the ${formatTypes(addresses)} of ${label} and keep the CNAME record. If there is none, another name server of ${zone} has it: let the registrar list only the name servers of one provider.`;
  return createReason(input, "blocking_address", found, fix);
}

/** The host's record is proxied by Cloudflare. */
export function proxied(input: HostCheckInput, addresses: readonly string[]): Reason {
  const { label, target } = input;
  const fix = `At Cloudflare, set the record ${label} to "DNS only" and check that its value is ${target}.`;
  return createReason(input, "proxied", `${formatAddresses(addresses)} (Cloudflare's proxy)`, fix);
}

/** An apex has addresses besides those of the platform. */
export function strayAddresses(
  input: HostCheckInput,
  strays: readonly string[],
  expected: readonly string[],
): Reason {
  const fix = `At the DNS provider of ${input.zone}, remove the ${formatTypes(strays)} for ${strays.join(", ")}.`;
  const reason = createReason(input, "stray_address", formatAddresses(strays), fix);
  return { ...reason, expected: `${reason.expected} (${expected.join(", ")})` };
}

/** An apex has none of the platform's addresses. */
export function wrongAddresses(
  input: HostCheckInput,
  addresses: readonly string[],
  expected: readonly string[],
  isProxied: boolean,
): Reason {
  const fix = `Remove the address records of ${input.host}. ${describeRecordToAdd(input)}`;
  const reason = isProxied
    ? proxied(input, addresses)
    : createReason(input, "wrong_target", formatAddresses(addresses), fix);
  return { ...reason, expected: `${reason.expected} (${expected.join(", ")})` };
}

/** A wrong record comes from a wildcard record, so there may be none of the host itself to change or remove. */
export function wildcard({ zone, label, target }: HostCheckInput, reason: Reason): Reason {
  return {
    ...reason,
    found: `${reason.found}, as for every name that matches a wildcard record`,
    fix: `At the DNS provider of ${zone}, set a CNAME record in place of any other record of ${label}: name ${label}, value ${target}, TTL ${RECORD_TTL_SECONDS}. It takes precedence over the wildcard record, which can stay.`,
  };
}

/** The platform has not assigned a target. The record can be set only afterwards. */
export function unknownTarget(input: HostCheckInput): Reason {
  const fix =
    "Set the certificate's validation record from the stack's outputs, wait until it has been issued, and deploy again.";
  return createReason(input, "target_unknown", "no target, because the certificate has not been issued", fix);
}

/** The target has no address. */
export function missingTarget(input: HostCheckInput, found: string): Reason {
  const { host, zone, target, label } = input;
  const fix = `Check that ${target} is the present target of ${host}. If its deployment was removed, remove the record ${label} at the DNS provider of ${zone}, or others can take over the host.`;
  const reason = createReason(input, "target_missing", found, fix);
  return { ...reason, name: target, expected: `an A or AAAA record for ${target}` };
}

/** The zone does not exist in DNS. */
export function zoneNotDelegated(input: HostCheckInput): Reason {
  const { zone } = input;
  const fix = `Check that ${zone} is registered and has not expired, and enter its DNS provider's name servers at the registrar.`;
  const reason = createReason(input, "zone_not_delegated", `NXDOMAIN: ${zone} does not exist in DNS`, fix);
  return { ...reason, name: zone, expected: `name servers for ${zone}` };
}

/** The delegation of a zone whose name servers fail. */
export interface LameDelegation {
  readonly parent: string;
  /** The name servers to which the parent delegates the zone, if they are known. */
  readonly nameServers: readonly string[];
  /** The failure of each of them, if it is known. */
  readonly failing: readonly string[];
  /** True if the parent has the fingerprint of the zone's key (DNSSEC). */
  readonly signed: boolean;
}

/** The name servers of the zone fail, while those of its parent answer. */
export function lameZone(
  input: HostCheckInput,
  { parent, nameServers, failing, signed }: LameDelegation,
): Reason {
  const { zone } = input;
  const found = [`SERVFAIL for ${zone}, while ${parent} answers`, ...failing].join("; ");
  const servers = nameServers.length === 0 ? "" : ` to ${nameServers.join(", ")}`;
  const dnssec = !signed
    ? ""
    : failing.length === 0 && nameServers.length > 0
      ? ` The name servers answer, so it is probably DNSSEC: the DS records of ${zone} at its parent must match its keys; remove them if the zone is not signed.`
      : ` The parent has DS records of ${zone} (DNSSEC): they must match its keys.`;
  const fix = `DNS delegates ${zone}${servers}. Find the name servers that the DNS provider of ${zone} shows, and ${enterNameServers(input)}.${dnssec}`;
  const reason = createReason(input, "zone_lame", found, fix);
  return { ...reason, name: zone, expected: `an answer from the name servers of ${zone}` };
}

/** A lookup failed. It says nothing about the domain, so the state is unknown. */
export function unanswered(input: HostCheckInput, name: string, failure: DnsFailure): Reason {
  const fix = `Retry, or use another resolver. If it keeps failing, check the name servers of ${locateInZone(name).zone}.`;
  return { ...createReason(input, "dns_unanswered", `${name}: ${DNS_FAILURES[failure]}`, fix), name };
}

/** The addresses at an apex that are the platform's, and the record that they come from. */
export function describeApexAddresses(
  { target, apexRecord }: HostCheckInput,
  addresses: readonly string[],
): string {
  return `${formatAddresses(addresses)}, the addresses of ${target} (${formatApexRecord(apexRecord)})`;
}

function formatApexRecord(record: ApexRecord | undefined): string {
  if (record === undefined) return "ALIAS, ANAME or flattened CNAME";
  return `${record.type === "CNAME" ? "flattened CNAME" : record.type} at ${record.provider}`;
}

function createReason(input: HostCheckInput, code: ReasonCode, found: string, fix: string): Reason {
  const { host, target, apex, apexRecord } = input;
  const { type = "ALIAS, ANAME or flattened CNAME", provider = "" } = apexRecord ?? {};
  const flattened = type === "CNAME" ? `, flattened by ${provider}` : "";
  const expected = apex ? `${type} ${target}${flattened}` : `CNAME ${target}`;
  return { code, host, name: host, found, expected, fix };
}

function describeRecordToAdd({ zone, label, target, apex, apexRecord }: HostCheckInput): string {
  const type = apex ? describeApexRecord(apexRecord) : "a CNAME record";
  return `At the DNS provider of ${zone}, add ${type}: name ${label}, value ${target}, TTL ${RECORD_TTL_SECONDS}.`;
}

function describeApexRecord(record: ApexRecord | undefined): string {
  if (record === undefined) return "an ALIAS or ANAME record (or a CNAME that the provider flattens)";
  return record.type === "CNAME"
    ? `a CNAME record, which ${record.provider} flattens`
    : `an ${record.type} record`;
}

/** In one order, because servers vary it. */
function formatAddresses(addresses: readonly string[]): string {
  return addresses
    .map((address) => `${typeOf(address)} ${address}`)
    .toSorted()
    .join(", ");
}

function formatTypes(addresses: readonly string[]): string {
  const types = [...new Set(addresses.map(typeOf))];
  return `${types.join(" and ")} ${addresses.length === 1 ? "record" : "records"}`;
}

function typeOf(address: string): "A" | "AAAA" {
  return address.includes(":") ? "AAAA" : "A";
}
