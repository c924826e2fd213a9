import { isWithin } from "../zone.ts";
import * as explain from "./explain-records.ts";
import { askPresent, findDelegation, findLameServers, findZone } from "./find-zone.ts";
import { findApexRecord, isProxyAddress } from "./providers.ts";
import type { HostCheckInput, HostCheckResult, Reason } from "./reasons.ts";
import { answersOnlyOwnZones, type DnsResolver, firstFailure, followCnames, recordsIn } from "./resolver.ts";

/**
 * Queries whether the records of a host point to the platform: both the resolver, which may have cached an old answer,
 * and the name servers of the zone, which decide.
 */
export async function checkRecords(resolver: DnsResolver, input: HostCheckInput): Promise<HostCheckResult> {
  const own = await askPresent(resolver, input.zone);
  const [remembered, present] = await Promise.all([
    queryRecords(resolver, input),
    own === undefined ? undefined : queryRecords(own, input),
  ]);
  const isUnanswered = present?.reasons.some(({ code }) => code === "dns_unanswered") !== false;
  if (isUnanswered || isSame(remembered, present)) return remembered;
  if (present.reasons.length > 0) {
    // An apex shows only addresses, which can differ between two queries without any change.
    if (input.apex && remembered.reasons.length === 0) return remembered;
    return { ...present, notes: [explain.outdatedNote(input, await secondsLeft(resolver, input))] };
  }
  return { reasons: [explain.outdated(input, remembered.reasons, await secondsLeft(resolver, input))] };
}

function isSame(one: HostCheckResult, other: HostCheckResult): boolean {
  const facts = ({ reasons }: HostCheckResult) =>
    reasons.map(({ code, found }) => `${code} ${found}`).join("\n");
  return facts(one) === facts(other);
}

/** The time for which the resolver still caches its answer about a host, in seconds. Undefined if it is not known. */
async function secondsLeft(resolver: DnsResolver, { host }: HostCheckInput): Promise<number | undefined> {
  const answers = await Promise.all([resolver(host, "CNAME"), resolver(host, "A"), resolver(host, "AAAA")]);
  const found = answers.filter(({ outcome }) => outcome === "found");
  const times = (found.length > 0 ? found : answers).flatMap((answer) =>
    answer.outcome === "failed" || answer.ttlSeconds === undefined ? [] : [answer.ttlSeconds],
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

async function queryRecords(resolver: DnsResolver, input: HostCheckInput): Promise<HostCheckResult> {
  const { host, target } = input;
  const chain = await followCnames(resolver, host);
  const [, pointsTo] = chain.names;
  if (pointsTo === target) {
    const [mixed, { reasons, unchecked }] = await Promise.all([
      checkMixedRecords(resolver, input),
      checkTarget(resolver, input),
    ]);
    return {
      reasons: [...mixed, ...reasons],
      found: [`CNAME ${target}`, unchecked].filter(Boolean).join("; "),
    };
  }
  if (pointsTo !== undefined) {
    const [mixed, wildcard] = await Promise.all([
      checkMixedRecords(resolver, input),
      matchesWildcard(resolver, input, [pointsTo]),
    ]);
    const wrong = explain.wrongCname(input, chain);
    return { reasons: [...mixed, wildcard ? explain.wildcard(input, wrong) : wrong] };
  }
  if (chain.failure !== undefined) return explainFailure(resolver, input, chain.failure);
  if (chain.end === "nxdomain") return checkMissing(resolver, input, "NXDOMAIN: the name does not exist");

  const [v4, v6, ns] = await Promise.all([resolver(host, "A"), resolver(host, "AAAA"), resolver(host, "NS")]);
  // A host with its own name servers is a zone, whatever the public suffix list says, and cannot have a CNAME.
  const zone = { zone: host, label: "@", apex: true, apexRecord: findApexRecord(recordsIn(ns)) };
  const located = ns.outcome === "found" ? { ...input, ...zone } : input;
  const addresses = [...recordsIn(v4), ...recordsIn(v6)];
  if (addresses.length > 0) {
    return located.apex
      ? compareAddresses(resolver, located, addresses)
      : checkBlockingAddresses(resolver, located, addresses);
  }
  const failure = firstFailure([v4, v6]);
  if (failure !== undefined) return explainFailure(resolver, located, failure);
  return checkMissing(resolver, located, "no such record, although the name exists");
}

async function checkMissing(
  resolver: DnsResolver,
  input: HostCheckInput,
  found: string,
): Promise<HostCheckResult> {
  const { host, zone } = input;
  const [completed, ns] = await Promise.all([
    // Providers append the zone to the name of a record, also to a full one.
    resolver(`${host}.${zone}`, "CNAME"),
    resolver(zone, "NS"),
  ]);
  const missing = explain.missingRecord(input, found, {
    completed: completed.outcome === "found",
    nameServers: recordsIn<"NS">(ns),
  });
  return { reasons: ns.outcome === "nxdomain" ? [explain.zoneNotDelegated(input), missing] : [missing] };
}

/**
 * Explains a failed lookup. If the lookup of the zone fails while its parent answers, the zone is at fault. Every
 * other failure may be the resolver's and says nothing about the domain.
 */
async function explainFailure(
  resolver: DnsResolver,
  input: HostCheckInput,
  failure: Parameters<typeof explain.unanswered>[2],
): Promise<HostCheckResult> {
  const { host, zone } = input;
  if (failure === "servfail") {
    const parent = zone.slice(zone.indexOf(".") + 1);
    const [own, above] = await Promise.all([resolver(zone, "NS"), resolver(parent, "NS")]);
    if (own.outcome === "nxdomain") return { reasons: [explain.zoneNotDelegated(input)] };
    if (own.outcome === "failed" && own.reason === "servfail" && above.outcome !== "failed") {
      return { reasons: [await explainLameZone(resolver, input, parent)] };
    }
  }
  return { reasons: [explain.unanswered(input, host, failure)] };
}

async function explainLameZone(
  resolver: DnsResolver,
  input: HostCheckInput,
  parent: string,
): Promise<Reason> {
  const above = await findZone(resolver, parent);
  const [nameServers, ds] = await Promise.all([
    findDelegation(resolver, input.zone, above.zone),
    resolver(input.zone, "DS"),
  ]);
  const failing = await findLameServers(resolver, input.zone, nameServers);
  return explain.lameZone(input, { parent, nameServers, failing, signed: ds.outcome === "found" });
}

async function checkBlockingAddresses(
  resolver: DnsResolver,
  input: HostCheckInput,
  addresses: readonly string[],
): Promise<HostCheckResult> {
  const proxied = addresses.some(isProxyAddress);
  const reason = proxied ? explain.proxied(input, addresses) : explain.blockingAddresses(input, addresses);
  const wildcard = await matchesWildcard(resolver, input, addresses);
  return { reasons: [wildcard ? explain.wildcard(input, reason) : reason] };
}

/** DNS forbids addresses beside a CNAME, but the name servers of a zone can disagree while it is being moved. */
async function checkMixedRecords(resolver: DnsResolver, input: HostCheckInput): Promise<readonly Reason[]> {
  const answers = await Promise.all([resolver(input.host, "A"), resolver(input.host, "AAAA")]);
  const own = answers.flatMap((answer) =>
    answer.outcome === "found" && answer.direct === true ? answer.records : [],
  );
  return own.length === 0 ? [] : [explain.mixedRecords(input, own)];
}

/** An apex returns only addresses, so they are compared with the platform's at the same time. */
async function compareAddresses(
  resolver: DnsResolver,
  input: HostCheckInput,
  addresses: readonly string[],
): Promise<HostCheckResult> {
  const { target } = input;
  const answers = await Promise.all([resolver(target, "A"), resolver(target, "AAAA")]);
  const expected = answers.flatMap((answer) => recordsIn<"A" | "AAAA">(answer));
  const strays = addresses.filter((address) => !expected.includes(address));
  if (strays.length === 0) return { reasons: [], found: explain.describeApexAddresses(input, addresses) };
  const failure = firstFailure(answers);
  if (failure !== undefined) return { reasons: [explain.unanswered(input, target, failure)] };
  if (expected.length === 0) {
    return { reasons: [explain.missingTarget(input, `${target} has no A or AAAA record`)] };
  }
  if (strays.length < addresses.length) {
    return { reasons: [explain.strayAddresses(input, strays, expected)] };
  }
  const proxied = strays.some(isProxyAddress);
  return { reasons: [explain.wrongAddresses(input, strays, expected, proxied)] };
}

/**
 * Queries whether the target exists. A record that points to a name without addresses serves nothing, and whoever
 * obtains that name takes over the host. `unchecked` is the reason why that is not known.
 */
async function checkTarget(
  resolver: DnsResolver,
  input: HostCheckInput,
): Promise<{ readonly reasons: readonly Reason[]; readonly unchecked?: string }> {
  const { names, last, end, failure } = await followCnames(resolver, input.target);
  const found = names.length === 1 ? "" : `CNAME ${names.join(" → ")}; `;
  const missing = (reason: string) => ({ reasons: [explain.missingTarget(input, found + reason)] });
  if (end === "nxdomain") return missing(`NXDOMAIN: ${last} does not exist`);
  if (end === "loop") return missing("the records form a loop");
  const answers = end === "failed" ? [] : await Promise.all([resolver(last, "A"), resolver(last, "AAAA")]);
  if (answers.some(({ outcome }) => outcome === "found")) return { reasons: [] };
  const failed = failure ?? firstFailure(answers);
  if (failed === undefined) return missing(`${last} has no A or AAAA record`);
  const refused = failed === "refused" && !isWithin(last, input.zone);
  // The zone's own name server refuses queries for other names, such as the target.
  if (refused && (await answersOnlyOwnZones(resolver, input.zone))) {
    return {
      reasons: [],
      unchecked: `${last} was not checked: this name server refuses names outside its zones`,
    };
  }
  return { reasons: [explain.unanswered(input, last, failed)] };
}

/** A label that no zone has: it is answered only by a wildcard record. */
const PROBE_LABEL = "store-orders-wildcard-probe";

/** True if other names below the same parent have the same records: they come from a wildcard record. */
async function matchesWildcard(
  resolver: DnsResolver,
  { host, apex }: HostCheckInput,
  values: readonly string[],
): Promise<boolean> {
  if (apex) return false;
  const sibling = `${PROBE_LABEL}${host.slice(host.indexOf("."))}`;
  const answers = await Promise.all([
    resolver(sibling, "CNAME"),
    resolver(sibling, "A"),
    resolver(sibling, "AAAA"),
  ]);
  const found = answers.flatMap((answer) => recordsIn<"CNAME" | "A" | "AAAA">(answer));
  return values.some((value) => found.includes(value));
}
