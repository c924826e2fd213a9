import { formatAddresses, isPrivateAddress, parseAddress } from "../addresses.ts";
import type { Reason } from "../status/reasons.ts";
import { explainRecords } from "./explain-records.ts";
import { findDelegation, findLameServers, findZone } from "./find-zone.ts";
import {
  checkEach,
  type HostCheckInput,
  type HostCheckResult,
  isSameResult,
  type ServerResult,
} from "./host-check.ts";
import { findApexRecord, isProxyAddress } from "./providers.ts";
import { type DnsFailure, type DnsResolver, firstFailure, followCnames, recordsIn } from "./resolver.ts";
import { compareWithMachine, compareWithTarget, type TargetComparison } from "./target-addresses.ts";

/**
 * Queries whether the records of a host point to the platform: both the resolver, which may have cached an old answer,
 * and each name server of the zone, which decide.
 */
export async function checkRecords(resolver: DnsResolver, zoned: HostCheckInput): Promise<HostCheckResult> {
  const nameServers = recordsIn<"NS">(await resolver(zoned.zone, "NS")).toSorted();
  const { target, addresses, deployment, isValidation } = zoned;
  const compare = addresses ? compareWithMachine(addresses) : compareWithTarget(resolver, target);
  const isAlias = deployment === "route53" && isValidation !== true;
  // Neither a machine nor a stack at Route 53 needs a CNAME below the apex.
  const apex = zoned.apex || addresses !== undefined || isAlias;
  const apexRecord = isAlias ? "ALIAS" : findApexRecord(nameServers);
  const input = { ...zoned, apex, nameServers, apexRecord, compare };
  const [remembered, said] = await Promise.all([
    queryRecords(resolver, input),
    checkEach(resolver, input.zone, (ask) => queryRecords(ask, input)),
  ]);
  const present = said[0]?.[1];
  if (present === undefined) return remembered;
  const unsure = said.find(([, result]) => isUnsure(result))?.[1];
  if (unsure !== undefined && said.every(([, result]) => isUnsure(result) || result.reasons.length === 0))
    return unsure;
  if (!said.every(([, result]) => isSameResult(result, present))) return explainDisagreement(input, said);
  if (isSameResult(remembered, present)) return remembered;
  if (present.reasons.length > 0) return { ...present, notes: [explainRecords(input).outdatedNote] };
  return isUnsure(remembered) ? present : { reasons: [explainRecords(input).outdated(remembered.reasons)] };
}

/** The input of a check, with what its servers have in common: the addresses that the target was seen to have. */
type RecordsInput = HostCheckInput & { readonly compare: TargetComparison };

/** True if the target may have addresses that it has not shown. */
const isUnsure = ({ reasons }: HostCheckResult): boolean =>
  reasons.some(({ code }) => code === "target_varies");

/** If every name server is wrong, what the first one has is to be corrected, too. */
function explainDisagreement(input: HostCheckInput, said: readonly ServerResult[]): HostCheckResult {
  const isWrong = said.every(([, { reasons }]) => reasons.length > 0);
  const first = isWrong ? (said[0]?.[1].reasons ?? []) : [];
  // The addresses of a wrong apex can come from a record that shows others each time.
  return { reasons: isWrong && input.apex ? first : [...first, explainRecords(input).disagreement(said)] };
}

async function queryRecords(resolver: DnsResolver, input: RecordsInput): Promise<HostCheckResult> {
  const { host, target, addresses: own } = input;
  const chain = await followCnames(resolver, host);
  const [, alias] = chain.names;
  // A CNAME may lead to the addresses of the machine, such as that of a redirect to the primary.
  const pointsTo = own === undefined || chain.end === "loop" || chain.end === "nxdomain" ? alias : undefined;
  if (pointsTo === target) {
    const reasons = await Promise.all([checkMixedRecords(resolver, input), checkTarget(resolver, input)]);
    return { reasons: reasons.flat(), found: `CNAME ${target}` };
  }
  if (pointsTo !== undefined) {
    const [mixed, wildcard] = await Promise.all([
      own === undefined ? checkMixedRecords(resolver, input) : [],
      matchesWildcard(resolver, input, [pointsTo]),
    ]);
    const wrong = explainRecords(input).wrongCname(chain);
    return { reasons: [...mixed, wildcard ? explainRecords(input).wildcard(wrong) : wrong] };
  }
  if (chain.failure !== undefined) return explainFailure(resolver, input, chain.failure);
  if (chain.end === "nxdomain") return checkMissing(resolver, input, "NXDOMAIN: the name does not exist");

  const answers = await Promise.all([resolver(chain.last, "A"), resolver(chain.last, "AAAA")]);
  const addresses = answers.flatMap((answer) => recordsIn<"A" | "AAAA">(answer));
  if (addresses.length > 0) {
    const result = await compareAddresses(resolver, input, addresses);
    if (alias === undefined || result.reasons.length === 0) return result;
    return { reasons: [explainRecords(input).wrongCname(chain)] };
  }
  const failure = firstFailure(answers);
  if (failure !== undefined) return explainFailure(resolver, input, failure);
  return checkMissing(resolver, input, "no such record, although the name exists");
}

async function checkMissing(
  resolver: DnsResolver,
  input: HostCheckInput,
  found: string,
): Promise<HostCheckResult> {
  const { host, zone } = input;
  // Providers append the zone to the name of a record, also to a full one.
  const named = { ...input, host: `${host}.${zone}`, label: host };
  const types = input.addresses === undefined ? (["CNAME"] as const) : (["A", "AAAA"] as const);
  const [completed, ns, beside] = await Promise.all([
    Promise.all(types.map((type) => resolver(named.host, type))),
    resolver(zone, "NS"),
    findBeside(resolver, input),
  ]);
  const values = completed.flatMap((answer) => recordsIn<(typeof types)[number]>(answer));
  // A wildcard record of the zone answers for that name, too.
  const isOther = values.length === 0 || (await matchesWildcard(resolver, named, values));
  const missing = explainRecords(input).missing(found, isOther ? undefined : named.host, beside);
  return {
    reasons: ns.outcome === "nxdomain" ? [explainRecords(input).zoneNotDelegated(), missing] : [missing],
  };
}

/** The types of the host's records that a CNAME beside them forbids. An apex keeps its own. */
async function findBeside(resolver: DnsResolver, input: HostCheckInput): Promise<readonly string[]> {
  if (input.apex) return [];
  const beside = (["TXT", "MX"] as const).map(async (type) => {
    const values = recordsIn<"TXT" | "MX">(await resolver(input.host, type));
    const isOwn = values.length > 0 && !(await matchesWildcard(resolver, input, values, [type]));
    return isOwn ? [type] : [];
  });
  return (await Promise.all(beside)).flat();
}

/**
 * Explains a failed lookup. If the lookup of the zone fails while its parent answers, the zone is at fault. Every
 * other failure may be the resolver's and says nothing about the domain.
 */
async function explainFailure(
  resolver: DnsResolver,
  input: HostCheckInput,
  failure: DnsFailure,
): Promise<HostCheckResult> {
  const { host, zone } = input;
  const unanswered = { reasons: [explainRecords(input).unanswered(host, failure)] };
  if (failure !== "servfail") return unanswered;
  const parent = zone.slice(zone.indexOf(".") + 1);
  const [own, above] = await Promise.all([resolver(zone, "NS"), resolver(parent, "NS")]);
  if (own.outcome === "nxdomain") return { reasons: [explainRecords(input).zoneNotDelegated()] };
  const isLame = own.outcome === "failed" && own.reason === "servfail" && above.outcome !== "failed";
  if (!isLame) return unanswered;
  const [delegated, ds] = await Promise.all([
    findDelegation(resolver, zone, (await findZone(resolver, parent)).zone),
    resolver(zone, "DS"),
  ]);
  const failing = await findLameServers(resolver, zone, delegated);
  return { reasons: [explainRecords(input).lameZone(parent, delegated, failing, ds.outcome === "found")] };
}

/**
 * DNS forbids other records beside a CNAME, but not every name server respects that. The platform's own addresses are
 * those of a provider that flattens the CNAME.
 */
async function checkMixedRecords(resolver: DnsResolver, input: RecordsInput): Promise<readonly Reason[]> {
  const [beside, ...answers] = await Promise.all([
    findBeside(resolver, input),
    resolver(input.host, "A"),
    resolver(input.host, "AAAA"),
  ]);
  const own = answers.flatMap((answer) =>
    answer.outcome === "found" && answer.direct === true ? answer.records : [],
  );
  const { strays, mayHaveMore } = await input.compare(own);
  const mixed = mayHaveMore ? [] : strays;
  if (mixed.length === 0 && beside.length === 0) return [];
  const reason = explainRecords(input).mixedRecords(mixed, beside);
  const isWildcard = await matchesWildcard(resolver, input, mixed);
  return [isWildcard ? explainRecords(input).wildcard(reason) : reason];
}

/** An apex, and a subdomain whose CNAME is flattened, returns only addresses, so they are compared with the platform's. */
async function compareAddresses(
  resolver: DnsResolver,
  input: RecordsInput,
  addresses: readonly string[],
): Promise<HostCheckResult> {
  const { target, apex } = input;
  const compared = await input.compare(addresses);
  const { strays, expected, mayHaveMore, failure } = compared;
  const present = addresses.map((address) => parseAddress(address) ?? address);
  const missing = input.addresses?.filter((address) => !present.includes(address)) ?? [];
  if (strays.length === 0 && missing.length > 0)
    return { reasons: [explainRecords(input).missing(formatAddresses(addresses), undefined, [], missing)] };
  if (strays.length === 0) return { reasons: [], found: explainRecords(input).describeAddresses(addresses) };
  const isForeign = strays.some(isProxyAddress) || strays.some(isPrivateAddress);
  if (failure !== undefined && !isForeign)
    return { reasons: [explainRecords(input).unanswered(target, failure)] };
  if (apex && expected.length === 0 && failure === undefined) {
    return { reasons: [explainRecords(input).missingTarget(`${target} has no A or AAAA record`)] };
  }
  if (mayHaveMore && !isForeign) return { reasons: [explainRecords(input).strayAddresses(compared)] };
  const [beside, wildcard] = await Promise.all([
    findBeside(resolver, input),
    matchesWildcard(resolver, input, strays),
  ]);
  const isPartly = strays.length < addresses.length;
  const { strayAddresses, wrongAddresses } = explainRecords(input);
  const wrong = isPartly ? strayAddresses(compared) : wrongAddresses(compared, beside);
  return { reasons: [wildcard ? explainRecords(input).wildcard(wrong) : wrong] };
}

/**
 * Queries whether the target exists. A record that points to a name without addresses serves nothing, and whoever
 * obtains that name takes over the host.
 */
async function checkTarget(resolver: DnsResolver, input: HostCheckInput): Promise<readonly Reason[]> {
  // The target of a validation record has no address.
  if (input.isValidation === true) return [];
  const { names, last, end, failure } = await followCnames(resolver, input.target);
  const found = names.length === 1 ? "" : `CNAME ${names.join(" → ")}; `;
  const missing = (reason: string) => [explainRecords(input).missingTarget(found + reason)];
  if (end === "nxdomain") return missing(`NXDOMAIN: ${last} does not exist`);
  if (end === "loop") return missing("the records form a loop");
  const answers = end === "failed" ? [] : await Promise.all([resolver(last, "A"), resolver(last, "AAAA")]);
  if (answers.some(({ outcome }) => outcome === "found")) return [];
  const failed = failure ?? firstFailure(answers);
  if (failed === undefined) return missing(`${last} has no A or AAAA record`);
  return [explainRecords(input).unanswered(last, failed)];
}

/** A label that no zone has: it is answered only by a wildcard record. */
const PROBE_LABEL = "store-orders-wildcard-probe";

/** True if other names below the same parent have the same records: they come from a wildcard record. */
async function matchesWildcard(
  resolver: DnsResolver,
  { host, label }: HostCheckInput,
  values: readonly string[],
  types: readonly ("CNAME" | "A" | "AAAA" | "TXT" | "MX")[] = ["CNAME", "A", "AAAA"],
): Promise<boolean> {
  // An apex is no name that a wildcard of its zone matches.
  if (label === "@" || values.length === 0) return false;
  const sibling = `${PROBE_LABEL}${host.slice(host.indexOf("."))}`;
  const answers = await Promise.all(types.map((type) => resolver(sibling, type)));
  const found = answers.flatMap((answer) => recordsIn<(typeof types)[number]>(answer));
  return values.some((value) => found.includes(value));
}
