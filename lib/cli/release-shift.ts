/** The traffic of a deployed stack, moved to its new version in steps. */
import { errorMessage } from "../core/errors.ts";

/** A function whose traffic is shifted to a version. */
export interface ReleaseFunction {
  readonly name: string;
  readonly alias: string;
  readonly version: string;
}

/** The functions to release and their alarms: the output `release` of a stack. */
export interface ReleaseTarget {
  readonly functions: readonly ReleaseFunction[];
  /** The names of the alarms on the new versions. */
  readonly alarms: readonly string[];
}

/** The versions that get the calls of an alias. */
export interface Routing {
  /** The version that gets the traffic that no other version gets. */
  readonly version: string;
  /** The version that gets a part, and its weight from 0 to 1. */
  readonly canary?: { readonly version: string; readonly weight: number };
  /** The version that had all traffic before the last shift, if it is known. */
  readonly previous?: string;
}

/** An alias as it is. */
export interface AliasState extends Routing {
  /** Changes with every change of the alias. */
  readonly revision: string;
}

/** An alias of a function. */
export type AliasName = Pick<ReleaseFunction, "name" | "alias">;

/** The calls to the cloud that a release makes. Each throws the platform's error. */
export interface ReleasePlatform {
  find(alias: AliasName): Promise<AliasState>;
  /** Changes an alias, unless someone else has changed it since `revision`. */
  route(alias: AliasName, change: AliasState): Promise<AliasState>;
  /** Returns which of these alarms fire. Throws if one of them does not exist. */
  findFiring(alarms: readonly string[]): Promise<readonly string[]>;
}

/** Options of a shift. */
export interface ShiftOptions {
  /** The time for which the new version is watched at `weight`. */
  readonly watchMs: number;
  /** The part of the traffic that the new version gets while it is watched, from 0 to 1. */
  readonly weight: number;
  readonly pollMs: number;
  /** Resolves after a time, with `stopped` if the command has to stop. */
  wait(ms: number): Promise<"stopped" | "elapsed">;
  log(line: string): void;
}

/** A function whose traffic was moved. */
export interface Moved {
  readonly function: string;
  readonly from: string;
  readonly to: string;
}

/** The result of a release. */
export type ShiftResult =
  | {
      readonly ok: true;
      readonly state: "shifted" | "unchanged" | "rolled_back";
      readonly functions: readonly Moved[];
    }
  | { readonly ok: false; readonly code: "alarm_firing" | "reverted"; readonly alarms: readonly string[] }
  | { readonly ok: false; readonly code: "stopped" | "no_previous_version" };

/**
 * Moves the traffic to the new versions: a part, then, if no alarm fires, all. Every function whose alias is there
 * already is left alone. An alarm, an error and a signal to stop give all traffic back to the old versions.
 */
export async function shift(
  { functions, alarms }: ReleaseTarget,
  platform: ReleasePlatform,
  { watchMs, weight, pollMs, wait, log }: ShiftOptions,
): Promise<ShiftResult> {
  const found = await findStates(functions, platform);
  const isReleased = ({ state, version }: Shifted) => state.version === version;
  for (const each of found.filter(isReleased)) {
    // An interrupted run may have left weights, and a version to roll back to would be an older one.
    const { canary, previous, version } = each.state;
    if (canary !== undefined || previous !== undefined) await route(platform, each, { version });
  }
  const pending = found.filter((each) => !isReleased(each));
  if (pending.length === 0) return { ok: true, state: "unchanged", functions: [] };

  const firing = await platform.findFiring(alarms);
  if (firing.length > 0) return { ok: false, code: "alarm_firing", alarms: firing };

  /** Watches the new versions until the time is over. Returns the reason to revert, if there is one. */
  async function watch(): Promise<Extract<ShiftResult, { ok: false }> | undefined> {
    for (let leftMs = watchMs; leftMs > 0; leftMs -= pollMs) {
      if ((await wait(Math.min(pollMs, leftMs))) === "stopped") return { ok: false, code: "stopped" };
      const firing = await platform.findFiring(alarms);
      if (firing.length > 0) return { ok: false, code: "reverted", alarms: firing };
    }
    return undefined;
  }
  const moved = pending.map(({ name, from, version }) => ({ function: name, from, to: version }));
  try {
    for (const each of watchMs > 0 ? pending : []) {
      const { name, from, version } = each;
      await route(platform, each, { version: from, canary: { version, weight } });
      const percent = Math.round(weight * 100);
      log(`${name}: ${percent} % of the requests go to version ${version}, the others to ${from}.`);
    }
    const problem = await watch();
    if (problem !== undefined) {
      await revert(pending, platform, log);
      return problem;
    }
    for (const each of pending) {
      each.isCompleting = true;
      await route(platform, each, { version: each.version, previous: each.from });
      log(`${each.name}: all requests go to version ${each.version}.`);
    }
  } catch (error) {
    // What cannot be given back has been logged; why the release failed matters more.
    await revert(pending, platform, log).catch(() => {});
    throw error;
  }
  return { ok: true, state: "shifted", functions: moved };
}

/** Gives all traffic back to the versions before the last shift, for a fault that no alarm has seen. */
export async function rollBack(
  { functions }: ReleaseTarget,
  platform: ReleasePlatform,
  { log }: Pick<ShiftOptions, "log">,
): Promise<ShiftResult> {
  const moved: Moved[] = [];
  for (const each of await findStates(functions, platform)) {
    // A part of the traffic is with a new version if a release could not give it back.
    const { version, canary, previous = version } = each.state;
    const [from, to] = canary === undefined ? [version, previous] : [canary.version, version];
    if (from === to) continue;
    await route(platform, each, { version: to });
    log(`${each.name}: all requests go to version ${to} again.`);
    moved.push({ function: each.name, from, to });
  }
  if (moved.length === 0) return { ok: false, code: "no_previous_version" };
  return { ok: true, state: "rolled_back", functions: moved };
}

/** A function with its alias, as it is and as it was. */
interface Shifted extends ReleaseFunction {
  state: AliasState;
  /** The version that had the traffic before. */
  readonly from: string;
  /** True once it was asked to give all traffic to the new version. */
  isCompleting?: boolean;
}

/** Finds the aliases of all functions before the first is changed. */
function findStates(
  functions: readonly ReleaseFunction[],
  platform: ReleasePlatform,
): Promise<readonly Shifted[]> {
  return Promise.all(
    functions.map(async ({ name, alias, version }) => {
      const state = await platform.find({ name, alias });
      return { name, alias, version, state, from: state.version };
    }),
  );
}

async function route(platform: ReleasePlatform, each: Shifted, routing: Routing): Promise<void> {
  each.state = await platform.route(each, { ...routing, revision: each.state.revision });
}

/** Gives all traffic back to the old versions. One that fails does not keep the others from it. */
async function revert(
  shifted: readonly Shifted[],
  platform: ReleasePlatform,
  log: ShiftOptions["log"],
): Promise<void> {
  const errors: unknown[] = [];
  for (const each of shifted) {
    const { name, from, version } = each;
    try {
      // The response to the last change may have been lost. A setting by someone else stays.
      each.state = await platform.find(each);
      const { canary, version: current } = each.state;
      const isPart = current === from && canary?.version === version;
      const isWhole = current === version && each.isCompleting === true;
      if (!isPart && !isWhole) continue;
      await route(platform, each, { version: from });
      log(`${name}: all requests go to version ${from} again.`);
    } catch (error) {
      const reason = errorMessage(error);
      log(
        `${name}: the traffic could not be given back to version ${from} (${reason}). Repeat with --rollback.`,
      );
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
