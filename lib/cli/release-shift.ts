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
}

/** An alias as it is. */
export interface AliasState extends Routing {
  /** The version that had all traffic before the last shift, if it is known. */
  readonly previous?: string;
  /** Changes with every change of the alias. */
  readonly revision: string;
}

/** An alias of a function. */
export interface AliasName {
  readonly name: string;
  readonly alias: string;
}

/** The calls to the cloud that a release makes. Each throws the platform's error. */
export interface ReleasePlatform {
  find(alias: AliasName): Promise<AliasState>;
  /** Changes an alias, unless someone else has changed it since `revision`. */
  route(
    alias: AliasName,
    change: Routing & { readonly previous?: string; readonly revision: string },
  ): Promise<AliasState>;
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
  | { readonly ok: false; readonly code: "alarm_firing"; readonly alarms: readonly string[] }
  | { readonly ok: false; readonly code: "reverted"; readonly alarms: readonly string[] }
  | { readonly ok: false; readonly code: "stopped" | "no_previous_version" };

interface Pending extends ReleaseFunction {
  state: AliasState;
  /** The version that has the traffic now. */
  readonly from: string;
  /** True once it was asked to give all traffic to the new version. */
  isCompleting?: boolean;
}

/**
 * Moves the traffic to the new versions: a part, then, if no alarm fires, all. Every function whose alias is there
 * already is left alone. An alarm, an error and a signal to stop give all traffic back to the old versions.
 */
export async function shift(
  { functions, alarms }: ReleaseTarget,
  platform: ReleasePlatform,
  options: ShiftOptions,
): Promise<ShiftResult> {
  const found = await Promise.all(
    functions.map(async (each): Promise<Pending> => {
      const state = await platform.find(each);
      return { ...each, state, from: state.version };
    }),
  );
  const pending = found.filter(({ from, version }) => from !== version);
  for (const each of found.filter((one) => !pending.includes(one))) await settle(each, platform);
  if (pending.length === 0) return { ok: true, state: "unchanged", functions: [] };

  const firing = await platform.findFiring(alarms);
  if (firing.length > 0) return { ok: false, code: "alarm_firing", alarms: firing };
  const moved = pending.map(({ name, from, version }) => ({ function: name, from, to: version }));
  try {
    if (options.watchMs > 0) {
      for (const each of pending) await start(each, platform, options);
      const ended = await watch(alarms, platform, options);
      if (ended !== "quiet") {
        await revert(pending, platform, options);
        return ended;
      }
    }
    for (const each of pending) await complete(each, platform, options);
  } catch (error) {
    // What cannot be given back has been logged; why the release failed matters more.
    await revert(pending, platform, options).catch(() => {});
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
  const found = await Promise.all(
    functions.map(async ({ name, alias }) => ({ name, alias, state: await platform.find({ name, alias }) })),
  );
  const moved: Moved[] = [];
  for (const { name, alias, state } of found) {
    // A part of the traffic is with a new version if a release could not give it back.
    const { version, canary, previous = version, revision } = state;
    const [from, to] = canary === undefined ? [version, previous] : [canary.version, version];
    if (from === to) continue;
    await platform.route({ name, alias }, { version: to, revision });
    log(`${name}: all requests go to version ${to} again.`);
    moved.push({ function: name, from, to });
  }
  if (moved.length === 0) return { ok: false, code: "no_previous_version" };
  return { ok: true, state: "rolled_back", functions: moved };
}

/** Nothing to shift: an interrupted run may have left weights, and a version to roll back to would be an older one. */
async function settle({ name, alias, state, version }: Pending, platform: ReleasePlatform): Promise<void> {
  if (state.canary === undefined && state.previous === undefined) return;
  await platform.route({ name, alias }, { version, revision: state.revision });
}

async function start(each: Pending, platform: ReleasePlatform, { weight, log }: ShiftOptions): Promise<void> {
  const canary = { version: each.version, weight };
  each.state = await platform.route(each, { version: each.from, canary, revision: each.state.revision });
  log(
    `${each.name}: ${Math.round(weight * 100)} % of the requests go to version ${each.version}, the others to ${each.from}.`,
  );
}

async function complete(each: Pending, platform: ReleasePlatform, { log }: ShiftOptions): Promise<void> {
  const { version, from, state } = each;
  each.isCompleting = true;
  each.state = await platform.route(each, { version, previous: from, revision: state.revision });
  log(`${each.name}: all requests go to version ${version}.`);
}

/** Gives all traffic back to the old versions. One that fails does not keep the others from it. */
async function revert(
  pending: readonly Pending[],
  platform: ReleasePlatform,
  options: ShiftOptions,
): Promise<void> {
  const errors: unknown[] = [];
  for (const each of pending) {
    try {
      await revertOne(each, platform, options);
    } catch (error) {
      const { name, from } = each;
      const reason = errorMessage(error);
      options.log(
        `${name}: the traffic could not be given back to version ${from} (${reason}). Repeat with --rollback.`,
      );
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Looks at the alias first: the response to a change of it may have been lost. A setting by someone else stays. */
async function revertOne(each: Pending, platform: ReleasePlatform, { log }: ShiftOptions): Promise<void> {
  const { version, canary, revision } = await platform.find(each);
  const isPart = version === each.from && canary?.version === each.version;
  const isWhole = version === each.version && each.isCompleting === true;
  if (!isPart && !isWhole) return;
  await platform.route(each, { version: each.from, revision });
  log(`${each.name}: all requests go to version ${each.from} again.`);
}

/** Watches the alarms until the time is over. */
async function watch(
  alarms: readonly string[],
  platform: ReleasePlatform,
  { watchMs, pollMs, wait }: ShiftOptions,
): Promise<"quiet" | Extract<ShiftResult, { ok: false }>> {
  for (let leftMs = watchMs; leftMs > 0; leftMs -= pollMs) {
    if ((await wait(Math.min(pollMs, leftMs))) === "stopped") return { ok: false, code: "stopped" };
    const firing = await platform.findFiring(alarms);
    if (firing.length > 0) return { ok: false, code: "reverted", alarms: firing };
  }
  return "quiet";
}
