/** The reasons why the records of a host are wrong, in words: found, expected, and the fix. Pure. */
import { formatAddresses, isPrivateAddress, typeOf } from "../addresses.ts";
import { RECORD_TTL_SECONDS } from "../records.ts";
import { REASONS, type Reason, type ReasonCode } from "../status/reasons.ts";
import { locateInZone, registrableDomainOf } from "../zone.ts";
import type { HostCheckInput, ServerResult } from "./host-check.ts";
import { isProxyAddress, SET_AGAIN, STACK_ZONES } from "./providers.ts";
import { type CnameChain, DNS_FAILURES, type DnsFailure } from "./resolver.ts";
import type { AddressComparison } from "./target-addresses.ts";

/** Explains what is wrong with a host. `beside` are the types of other records of its name. */
export function explainRecords(input: HostCheckInput) {
  const { host, zone, label, target, addresses, apex, apexRecord, nameServers = [] } = input;
  const { isValidation, deployment = "manual" } = input;
  const ofStack = STACK_ZONES[deployment];
  const hides = apexRecord === "CNAME" ? STACK_ZONES.cloudflare?.hides : UNHIDE;
  const provider = `At the DNS provider of ${zone}`;
  const enterNameServers =
    registrableDomainOf(zone) === zone
      ? "enter those at the registrar"
      : `set those as the NS records of ${zone} in the zone above`;
  // Whoever has set the right record, but at another provider, has to change the delegation and no record.
  const delegation =
    nameServers.length === 0
      ? ""
      : `DNS asks ${nameServers.join(", ")} for ${zone}: if your provider's name servers are others, ${enterNameServers}.`;
  const type = apex ? describeApexRecord(apexRecord) : "CNAME";
  const right = addresses === undefined ? `${type} ${target}` : formatAddresses(addresses);
  const ttl = `TTL ${RECORD_TTL_SECONDS}`;

  /** The record to set, or those with some of the machine's addresses. */
  function records(wanted: readonly string[] = addresses ?? []): string {
    const [value = target, ...others] = wanted;
    if (others.length > 0) return `records ${formatAddresses(wanted)}: name ${label}, ${ttl}`;
    const own = wanted.length === 0 ? type : typeOf(value);
    return `${own} record: name ${label}, value ${value}, ${ttl}`;
  }

  const rightWith = (expected: readonly string[]): string =>
    addresses !== undefined || expected.length === 0 ? right : `${right} (${expected.join(", ")})`;

  function reason(code: ReasonCode, found: string, fix: string, expected = right, name = host): Reason {
    // A record that is missing or wrong may be right at another provider.
    const about = name === host && REASONS[code].level === "blocks" ? delegation : "";
    return { code, host, name, found, expected, fix: [fix, about].filter(Boolean).join(" ") };
  }

  /** Names each address: beside it, the same name can have one that is right. */
  function remove(addresses: readonly string[]): string {
    const types = [...new Set(addresses.map(typeOf))].join(" and ");
    const records = addresses.length === 1 ? "record" : "records";
    return `remove the ${types} ${records} of ${label} (${addresses.join(", ")})`;
  }

  /** The fix of a record that has to be set: by the stack if it sets its records itself. */
  function set(byHand: string, otherwise = ""): string {
    if (ofStack === undefined) return `${provider}, ${byHand}${otherwise}`;
    const { place, hides } = ofStack;
    return isValidation
      ? `The stack sets this record ${place}. ${hides} ${SET_AGAIN}`
      : `Unless the host is under 'hold', the stack sets this record ${place}. ${SET_AGAIN} Its preview names a record that is in the way.`;
  }

  /** What to do if the record cannot be added. The authority sees none that the provider proxies or flattens. */
  const otherwise = isValidation
    ? ` If the record is there already, it is hidden from DNS. ${hides}`
    : apex && addresses === undefined && apexRecord === undefined
      ? ` If it offers none of these, use a host below ${zone}, such as www.${zone}.`
      : "";

  /** A CNAME allows no other record beside it, also none that proves the ownership of the name or receives its mail. */
  function move(beside: readonly string[]): string {
    if (beside.length === 0) return "";
    return ` A CNAME allows no other record of ${label}: move its ${beside.join(" and ")} records to another name.`;
  }

  return {
    missing(found: string, beside: readonly string[] = [], wanted?: readonly string[]): Reason {
      const fix = `${set(`add the ${records(wanted)}.`, otherwise)}${move(beside)}`;
      return reason("record_missing", found, fix);
    },

    /** `completed`: the full name of the record, which was completed with the zone, as many providers do. */
    misnamed(found: string, completed: string, beside: readonly string[]): Reason {
      const kind = addresses === undefined ? "CNAME record" : "records";
      const fix = `rename the ${kind} ${completed} to ${label}: the provider appends the zone to the name.`;
      return reason("record_missing", found, `${set(fix)}${move(beside)}`);
    },

    outdated([first]: readonly Reason[]): Reason {
      const found = `${first?.found}; the name servers of ${zone} have the record`;
      return reason("answer_outdated", found, `Nothing is left to do at the DNS provider. ${MEMORY}`);
    },

    outdatedNote: `This is what the name servers of ${zone} answer now. ${MEMORY}`,

    disagreement(said: readonly ServerResult[]): Reason {
      const found = said.map(
        ([server, { found, reasons }]) =>
          `${server}: ${found ?? reasons.map((each) => each.found).join("; ")}`,
      );
      const wrong = said.filter(([, { reasons }]) => reasons.length > 0).map(([server]) => server);
      const fix = `Visitors get either. Find out why ${wrong.join(", ")} ${wrong.length === 1 ? "has" : "have"} another record: if they belong to another provider than the others, let the registrar list only those of one; otherwise wait until the provider has updated all of them.`;
      const expected = `${right} at each name server of ${zone}`;
      return reason("name_servers_disagree", found.join("; "), fix, expected);
    },

    /** Many providers complete a value without a trailing dot. */
    wrongCname({ names, end }: CnameChain): Reason {
      const code = end === "loop" ? "cname_loop" : "wrong_target";
      const found = `CNAME ${names.slice(1).join(" → ")}`;
      const isCompleted = names[1] === `${target}.${zone}`;
      const hint = isCompleted ? " End it with a dot: the provider has appended the zone." : "";
      const fix =
        addresses === undefined
          ? `change the value of the CNAME record ${label} to ${target}.${hint}`
          : `remove the CNAME record ${label}, then add the ${records()}.`;
      return reason(code, found, set(fix));
    },

    mixedRecords(addresses: readonly string[], beside: readonly string[]): Reason {
      const found = [formatAddresses(addresses), ...beside.map((each) => `${each} records`)].filter(Boolean);
      const first =
        addresses.length === 0 ? "" : `${provider}, ${remove(addresses)} and keep the CNAME record.`;
      const fix = `${first}${move(beside)}`.trim();
      return reason("blocking_address", `${found.join(", ")}, beside a CNAME`, fix);
    },

    strayAddresses({ strays, expected, mayHaveMore }: AddressComparison): Reason {
      const other =
        addresses === undefined || strays.some(isPrivateAddress)
          ? ""
          : " If it is an address of the machine, give it with --address, too.";
      const fix = mayHaveMore
        ? `If the record ${label} is an ALIAS, ANAME or flattened CNAME with the value ${target}, nothing is wrong: check again later. Remove no address before you know.`
        : `${provider}, ${remove(strays)}.${other}`;
      const code = mayHaveMore ? "target_varies" : "stray_address";
      return reason(code, formatAddresses(strays), fix, rightWith(expected));
    },

    /** The host has none of the platform's addresses, at a subdomain in place of the CNAME that it needs. */
    wrongAddresses({ strays, expected }: AddressComparison, beside: readonly string[]): Reason {
      const code = apex ? "wrong_target" : "blocking_address";
      const found = formatAddresses(strays);
      const wanted = apex ? rightWith(expected) : right;
      if (strays.some(isProxyAddress)) {
        const byHand = `At Cloudflare, set the record ${label} to "DNS only" and check that its value is ${target}.`;
        const fix = ofStack === undefined ? byHand : set("");
        return reason("proxied", `${found} (Cloudflare's proxy)`, fix, wanted);
      }
      const fix = set(`${remove(strays)}, then add the ${records()}.${move(beside)}`, otherwise);
      if (strays.some(isPrivateAddress))
        return reason(code, `${found} (private)`, `${fix} ${INTERNAL}`, wanted);
      return reason(code, found, fix, wanted);
    },

    /** A wrong record comes from a wildcard record, so there may be none of the host itself to change or remove. */
    wildcard({ code, found }: Reason): Reason {
      const [kind, details] = records().split(/: (?=name )/);
      const fix = set(
        `set the ${kind} in place of any other record of ${label}: ${details}. It takes precedence over the wildcard record, which can stay.`,
      );
      return reason(code, `${found}, as for every name that matches a wildcard record`, fix);
    },

    /** The platform has not assigned a target. `isValidated`: undefined if no validation record is known. */
    unknownTarget(isValidated: boolean | undefined): Reason {
      const none =
        isValidated === undefined
          ? " If they have none, request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy."
          : "";
      const set = isValidated
        ? "The certificate's validation record is set:"
        : "Set the certificate's validation record from the stack's outputs,";
      const fix = `${set} wait until it has been issued, and deploy again.${none}`;
      return reason("target_unknown", "no target, because the certificate has not been issued", fix);
    },

    /** `isSet`: the record of the host points to it. */
    missingTarget(found: string, isSet: boolean): Reason {
      const check = `Check that ${target} is the present target of ${host}`;
      const fix = isSet
        ? `${check}. If its deployment was removed, remove the record ${label} at the DNS provider of ${zone}, or others can take over the host.`
        : `${check} before you set a record with it, or others can take over the host.`;
      return reason("target_missing", found, fix, `an A or AAAA record for ${target}`, target);
    },

    zoneNotDelegated(): Reason {
      const found = `NXDOMAIN: ${zone} does not exist in DNS`;
      const fix = `Check that ${zone} is registered and has not expired, and enter its DNS provider's name servers at the registrar.`;
      return reason("zone_not_delegated", found, fix, `name servers for ${zone}`, zone);
    },

    /** The name servers to which the parent delegates the zone fail. `isSigned`: the parent has its keys (DNSSEC). */
    lameZone(
      parent: string,
      servers: readonly string[],
      failing: readonly string[],
      isSigned: boolean,
    ): Reason {
      const found = [`SERVFAIL for ${zone}, while ${parent} answers`, ...failing].join("; ");
      const to = servers.length === 0 ? "" : ` to ${servers.join(", ")}`;
      const keys =
        failing.length === 0 && servers.length > 0
          ? `The name servers answer, so it is probably DNSSEC: the DS records of ${zone} at its parent must match its keys; remove them if the zone is not signed.`
          : `The parent has DS records of ${zone} (DNSSEC): they must match its keys.`;
      const same =
        failing.length === 0 ? "" : " If it shows the same, the zone may be missing or suspended there.";
      const dnssec = isSigned ? ` ${keys}` : "";
      const fix = `DNS delegates ${zone}${to}. Find the name servers that the DNS provider of ${zone} shows, and ${enterNameServers}.${same}${dnssec}`;
      return reason("zone_lame", found, fix, `an answer from the name servers of ${zone}`, zone);
    },

    unanswered(name: string, failure: DnsFailure): Reason {
      const fix = `Retry, or use another resolver. If it keeps failing, check the name servers of ${locateInZone(name).zone}.`;
      return reason("dns_unanswered", `${name}: ${DNS_FAILURES[failure]}`, fix, right, name);
    },

    apexCname: host === zone ? [APEX_CNAME] : [],
    copies: addresses === undefined && apexRecord === undefined ? [COPIES] : [],

    found: (found: readonly string[]): string =>
      addresses === undefined
        ? `${formatAddresses(found)}, the addresses of ${target} (${describeApexRecord(apexRecord)})`
        : formatAddresses(found),
  };
}

const UNHIDE = "Switch off what proxies or flattens this record.";
const APEX_CNAME = "DNS forbids a CNAME at an apex, so some resolvers fail. Use an ALIAS or ANAME instead.";
const COPIES = "If these are copied addresses and no ALIAS, they are wrong once the target changes its own.";
const MEMORY = "Your resolver remembers the old answer until its TTL has passed.";
const INTERNAL =
  "If the DNS provider shows the right record, an internal DNS server answers, which visitors do not ask: check again with a public one, such as --resolver 1.1.1.1.";

function describeApexRecord(type: HostCheckInput["apexRecord"]): string {
  if (type === undefined) return "ALIAS, ANAME or flattened CNAME";
  return type === "CNAME" ? "flattened CNAME" : type;
}
