import { formatAddresses, isPrivateAddress, parseAddress } from "../addresses.ts";
import type { Reason } from "../status/reasons.ts";
import { explainRecords } from "./explain-records.ts";
import { findDelegation, findLameServers, findZone } from "./find-zone.ts";
import { checkEach, type HostCheckInput, type HostCheckResult, isSameResult } from "./host-check.ts";
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
  const input = {
    ...zoned,
    apex,
    nameServers,
    apexRecord: isAlias ? "ALIAS" : findApexRecord(nameServers),
  } as const;
  const explain = explainRecords(input);
  const check = (ask: DnsResolver) => queryRecords(ask, { ...input, compare, explain });
  const [remembered, said] = await Promise.all([check(resolver), checkEach(resolver, input.zone, check)]);
  const results = said.map(([, result]) => result);
  const [present] = results;
  if (present === undefined) return remembered;
  const unsure = results.find(isUnsure);
  if (unsure !== undefined && results.every((each) => isUnsure(each) || each.reasons.length === 0))
    return unsure;
  if (!results.every((each) => isSameResult(each, present))) {
    // If every name server is wrong, what the first one has is to be corrected, too.
    const wrong = results.every(({ reasons }) => reasons.length > 0) ? present.reasons : [];
    // The addresses of a wrong apex can come from a record that shows others each time.
    return { reasons: apex && wrong.length > 0 ? wrong : [...wrong, explain.disagreement(said)] };
  }
  if (isSameResult(remembered, present)) return remembered;
  if (present.reasons.length > 0) return { ...present, notes: [explain.outdatedNote] };
  return isUnsure(remembered) ? present : { reasons: [explain.outdated(remembered.reasons)] };
}

/** True if the target may have addresses that it has not shown. */
const isUnsure = ({ reasons }: HostCheckResult): boolean =>
  reasons.some(({ code }) => code === "target_varies");

interface RecordsInput extends HostCheckInput {
  /** All servers of one check share it: it knows the addresses that the target was seen to have. */
  readonly compare: TargetComparison;
  readonly explain: ReturnType<typeof explainRecords>;
}

/** A label that no zone has: it is answered only by a wildcard record. */
const PROBE_LABEL = "store-orders-wildcard-probe";

/** Checks the records as one resolver, or one name server, has them. */
async function queryRecords(resolver: DnsResolver, input: RecordsInput): Promise<HostCheckResult> {
  const { host, zone, target, addresses: own, apex, isValidation, compare, explain } = input;

  /** True if other names below the same parent have the same records: they come from a wildcard record. */
  async function matchesWildcard(
    values: readonly string[],
    types: readonly ("CNAME" | "A" | "AAAA" | "TXT" | "MX")[] = ["CNAME", "A", "AAAA"],
    name = host,
  ): Promise<boolean> {
    // An apex is no name that a wildcard of its zone matches.
    if (name === zone || values.length === 0) return false;
    const sibling = `${PROBE_LABEL}${name.slice(name.indexOf("."))}`;
    const answers = await Promise.all(types.map((type) => resolver(sibling, type)));
    const found = answers.flatMap((answer) => recordsIn<(typeof types)[number]>(answer));
    return values.some((value) => found.includes(value));
  }

  /** The types of the host's records that a CNAME beside them forbids. An apex keeps its own. */
  async function findBeside(): Promise<readonly string[]> {
    if (apex) return [];
    const beside = (["TXT", "MX"] as const).map(async (type) => {
      const values = recordsIn<"TXT" | "MX">(await resolver(host, type));
      return values.length > 0 && !(await matchesWildcard(values, [type])) ? [type] : [];
    });
    return (await Promise.all(beside)).flat();
  }

  async function explainMissing(found: string): Promise<readonly Reason[]> {
    // Providers append the zone to the name of a record, also to a full one.
    const named = `${host}.${zone}`;
    const types = own === undefined ? (["CNAME"] as const) : (["A", "AAAA"] as const);
    const [completed, ns, beside, dangling] = await Promise.all([
      Promise.all(types.map((type) => resolver(named, type))),
      resolver(zone, "NS"),
      findBeside(),
      findDangling(),
    ]);
    const values = completed.flatMap((answer) => recordsIn<(typeof types)[number]>(answer));
    // A wildcard record of the zone answers for that name, too.
    const isOther = values.length === 0 || (await matchesWildcard(values, undefined, named));
    const missing = isOther ? explain.missing(found, beside) : explain.misnamed(found, named, beside);
    const undelegated = ns.outcome === "nxdomain" ? [explain.zoneNotDelegated()] : [];
    return [...undelegated, missing, ...dangling];
  }

  /**
   * If the lookup of the zone fails while its parent answers, the zone is at fault. Every other failure may be the resolver's
   * and says nothing about the domain.
   */
  async function explainFailure(failure: DnsFailure): Promise<Reason> {
    if (failure !== "servfail") return explain.unanswered(host, failure);
    const parent = zone.slice(zone.indexOf(".") + 1);
    const [there, above] = await Promise.all([resolver(zone, "NS"), resolver(parent, "NS")]);
    if (there.outcome === "nxdomain") return explain.zoneNotDelegated();
    const isLame = there.outcome === "failed" && there.reason === "servfail" && above.outcome !== "failed";
    if (!isLame) return explain.unanswered(host, failure);
    const [delegated, ds] = await Promise.all([
      findDelegation(resolver, zone, (await findZone(resolver, parent)).zone),
      resolver(zone, "DS"),
    ]);
    const failing = await findLameServers(resolver, zone, delegated);
    return explain.lameZone(parent, delegated, failing, ds.outcome === "found");
  }

  /**
   * DNS forbids other records beside a CNAME, but not every name server respects that. The platform's own addresses are
   * those of a provider that flattens the CNAME.
   */
  async function checkMixed(): Promise<readonly Reason[]> {
    const [beside, ...answers] = await Promise.all([
      findBeside(),
      resolver(host, "A"),
      resolver(host, "AAAA"),
    ]);
    const direct = answers.flatMap((answer) =>
      answer.outcome === "found" && answer.direct === true ? answer.records : [],
    );
    const { strays, mayHaveMore } = await compare(direct);
    const mixed = mayHaveMore ? [] : strays;
    if (mixed.length === 0 && beside.length === 0) return [];
    const reason = explain.mixedRecords(mixed, beside);
    return [(await matchesWildcard(mixed)) ? explain.wildcard(reason) : reason];
  }

  /** Whoever obtains a target that does not exist takes over the host. That of a validation record has no address. */
  async function checkTarget(isSet: boolean): Promise<readonly Reason[]> {
    if (isValidation === true || own !== undefined) return [];
    const { names, last, end, failure } = await followCnames(resolver, target);
    const found = names.length === 1 ? "" : `CNAME ${names.join(" → ")}; `;
    const missing = (reason: string) => [explain.missingTarget(found + reason, isSet)];
    if (end === "nxdomain") return missing(`NXDOMAIN: ${last} does not exist`);
    if (end === "loop") return missing("the records form a loop");
    const answers = end === "failed" ? [] : await Promise.all([resolver(last, "A"), resolver(last, "AAAA")]);
    if (answers.some(({ outcome }) => outcome === "found")) return [];
    const failed = failure ?? firstFailure(answers);
    return failed === undefined
      ? missing(`${last} has no A or AAAA record`)
      : [explain.unanswered(last, failed)];
  }

  /** Found before a record is set to a target that does not exist. */
  async function findDangling(): Promise<readonly Reason[]> {
    return (await checkTarget(false)).filter(({ code }) => code === "target_missing");
  }

  /** An apex, and a subdomain whose CNAME is flattened, returns only addresses. Undefined if they are the platform's. */
  async function explainAddresses(addresses: readonly string[]): Promise<Reason | undefined> {
    const compared = await compare(addresses);
    const { strays, expected, mayHaveMore, failure } = compared;
    const present = addresses.map((address) => parseAddress(address) ?? address);
    const missing = own?.filter((address) => !present.includes(address)) ?? [];
    if (strays.length === 0)
      return missing.length === 0 ? undefined : explain.missing(formatAddresses(addresses), [], missing);
    const isForeign = strays.some(isProxyAddress) || strays.some(isPrivateAddress);
    if (failure !== undefined && !isForeign) return explain.unanswered(target, failure);
    if (apex && expected.length === 0 && failure === undefined)
      return explain.missingTarget(`${target} has no A or AAAA record`, true);
    if (mayHaveMore && !isForeign) return explain.strayAddresses(compared);
    const [beside, isWildcard] = await Promise.all([findBeside(), matchesWildcard(strays)]);
    const isPartly = strays.length < addresses.length;
    const wrong = isPartly ? explain.strayAddresses(compared) : explain.wrongAddresses(compared, beside);
    return isWildcard ? explain.wildcard(wrong) : wrong;
  }

  const chain = await followCnames(resolver, host);
  const [, alias] = chain.names;
  // A CNAME may lead to the addresses of the machine, such as that of a redirect to the primary.
  const pointsTo = own === undefined || chain.end === "loop" || chain.end === "nxdomain" ? alias : undefined;
  if (pointsTo === target) {
    const reasons = await Promise.all([checkMixed(), checkTarget(true)]);
    return { reasons: reasons.flat(), notes: explain.apexCname, found: `CNAME ${target}` };
  }
  if (pointsTo !== undefined) {
    const [mixed, isWildcard, dangling] = await Promise.all([
      own === undefined ? checkMixed() : [],
      matchesWildcard([pointsTo]),
      findDangling(),
    ]);
    const wrong = explain.wrongCname(chain);
    return { reasons: [...mixed, isWildcard ? explain.wildcard(wrong) : wrong, ...dangling] };
  }
  if (chain.failure !== undefined) return { reasons: [await explainFailure(chain.failure)] };
  if (chain.end === "nxdomain") return { reasons: await explainMissing("NXDOMAIN: the name does not exist") };

  const answers = await Promise.all([resolver(chain.last, "A"), resolver(chain.last, "AAAA")]);
  const addresses = answers.flatMap((answer) => recordsIn<"A" | "AAAA">(answer));
  if (addresses.length > 0) {
    const reason = await explainAddresses(addresses);
    if (reason === undefined) return { reasons: [], notes: explain.copies, found: explain.found(addresses) };
    return { reasons: [alias === undefined ? reason : explain.wrongCname(chain)] };
  }
  const failure = firstFailure(answers);
  if (failure !== undefined) return { reasons: [await explainFailure(failure)] };
  return { reasons: await explainMissing("no such record, although the name exists") };
}
