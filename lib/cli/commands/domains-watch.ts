import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { invalidInput } from "../../core/errors.ts";
import type { Clock, Instant } from "../../core/time.ts";
import {
  ATTENTION_REASONS,
  DOMAIN_STATES,
  type DomainState,
  VALIDATION_TIMEOUT_MS,
} from "../../domains/lifecycle.ts";
import {
  type HostObservation,
  observeHosts,
  startWatch,
  type WatchState,
} from "../../domains/observation.ts";
import type { Deployment } from "../../domains/verification/advice.ts";
import { createFolder } from "../../stores/sqlite/file.ts";
import type { CommandContext } from "../context.ts";
import { explainFileError, systemErrorCode } from "../errors.ts";
import type { StackDomains } from "../stack-outputs.ts";
import { advanceWatch, createWatchOutput, type HostScreen, type WatchStep } from "../watch-screen.ts";
import type { VerificationTools } from "./domains.ts";

const INTERVAL_MS = 30_000;

/** Options of `watchHosts`. */
interface WatchOptions {
  readonly reverify: boolean;
  /** The path of the state file. */
  readonly state: string;
  readonly json: boolean;
}

/** `domains watch`: follows every host until it is live or needs attention. */
export async function watchHosts(
  { clock, terminal, waitForStop }: CommandContext,
  { hosts, knownZones }: StackDomains,
  verification: VerificationTools,
  { reverify, state, json }: WatchOptions,
): Promise<WatchEnd> {
  const states = openWatchState(state, clock());
  const start = startWatch(
    hosts.map(({ host }) => host),
    states.earlier,
    { at: clock(), reverify },
  );
  const stop = new AbortController();
  const stopped = waitForStop().then(() => {
    stop.abort();
    return "stopped" as const;
  });
  const end = await runWatch(start, {
    clock,
    deployment: verification.deployment,
    save: (next) => states.save(next, clock()),
    show: createWatchOutput(terminal, { clock, json }),
    stopped,
    sleep: () => wait(INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {}),
    observe: () => observeHosts(hosts, { ...verification, knownZones }),
  });
  if (end === "stopped") terminal.log("Stopped. The same command continues the watch.");
  return end;
}

/** The effects of a watch, which itself only decides. */
export interface WatchEffects {
  readonly clock: Clock;
  /** @default "stack" */
  readonly deployment?: Deployment;
  observe(): Promise<readonly HostObservation[]>;
  /** Keeps the state for the next run. */
  save(state: WatchState): void;
  show(step: WatchStep): Promise<void>;
  /** Waits until the next observation is due. */
  sleep(): Promise<unknown>;
  /** Resolves when the watch has to stop, also during an observation. */
  readonly stopped: Promise<"stopped">;
}

/** The result of a watch. */
export type WatchEnd = "live" | "needs_attention" | "stopped";

/** Observes the hosts of a state until each is live or needs attention, or until it has to stop. */
export async function runWatch(start: WatchState, effects: WatchEffects): Promise<WatchEnd> {
  let state = start;
  let shown: readonly HostScreen[] = [];
  for (;;) {
    const observed = await Promise.race([effects.observe(), effects.stopped]);
    if (observed === "stopped") return observed;
    const step = advanceWatch(state, observed, effects.clock(), { shown, deployment: effects.deployment });
    state = step.state;
    shown = step.hosts;
    effects.save(state);
    await effects.show(step);
    if (step.settled) {
      return step.hosts.every(({ domain }) => domain.state === "live") ? "live" : "needs_attention";
    }
    if ((await Promise.race([effects.sleep(), effects.stopped])) === "stopped") return "stopped";
  }
}

const instant = z.int().nonnegative();

const entrySchema = z.strictObject({
  host: z.string(),
  state: z.enum(DOMAIN_STATES as [DomainState, ...DomainState[]]),
  since: instant,
  verifiedAt: instant.exactOptional(),
  attemptSince: instant.exactOptional(),
  attention: z.enum(ATTENTION_REASONS).exactOptional(),
  observedAt: instant,
});

const fileSchema = z.strictObject({ watchedDomains: z.array(entrySchema) });

type Entry = z.output<typeof entrySchema>;

/** The state of earlier watches. A watch of other hosts keeps the entries of the file about the rest. */
export interface WatchStateFile {
  /** Observations of an earlier watch within the last 72 hours. Older ones say nothing about a host any more. */
  readonly earlier: WatchState;
  save(state: WatchState, at: Instant): void;
}

const OTHER_PATH = "Give another path for the state with --state.";

/** Opens a state file. A missing file is empty. Throws an `InvalidInputError` if the file cannot be used. */
export function openWatchState(path: string, at: Instant): WatchStateFile {
  const isRecent = ({ observedAt }: Entry) => at - observedAt < VALIDATION_TIMEOUT_MS;
  // A path that cannot be written is reported at once, and not after hours of waiting.
  const entries = updateEntries(path, (earlier) => earlier.filter(isRecent).map((entry) => until(entry, at)));
  return {
    earlier: new Map(entries.map(({ observedAt, ...domain }) => [domain.host, domain])),
    save(state, observedAt) {
      updateEntries(path, (earlier) => {
        const others = earlier.filter((entry) => isRecent(entry) && !state.has(entry.host));
        const own = [...state.values()].map((domain) =>
          mergeEntry(
            { ...domain, observedAt },
            earlier.find(({ host }) => host === domain.host),
          ),
        );
        return [...others, ...own];
      });
    },
  };
}

/** An instant in the future was written by a wrong clock. What is due some time after it would never be. */
function until(entry: Entry, at: Instant): Entry {
  const bounded: { -readonly [K in keyof Entry]: Entry[K] } = { ...entry };
  for (const time of [...TIMES, "observedAt"] as const)
    if (bounded[time] !== undefined) bounded[time] = Math.min(bounded[time], at);
  return bounded;
}

const TIMES = ["since", "verifiedAt", "attemptSince"] as const;

/** Of two watches of one host in one state, the one that saw it first has the times. */
function mergeEntry(own: Entry, other: Entry | undefined): Entry {
  if (other?.state !== own.state || other.attention !== own.attention) return own;
  const merged: { -readonly [K in keyof Entry]: Entry[K] } = { ...own };
  for (const time of TIMES) {
    const [one, another] = [own[time], other[time]];
    if (one !== undefined && another !== undefined) merged[time] = Math.min(one, another);
  }
  return merged;
}

/** Replaces the content of a state file. Nobody else changes it in between. */
function updateEntries(path: string, update: (entries: readonly Entry[]) => readonly Entry[]) {
  const unlock = lockFile(path);
  try {
    const entries = update(readEntries(path));
    writeEntries(path, entries);
    return entries;
  } finally {
    unlock();
  }
}

/** An update takes milliseconds, so an older lock is from a process that was killed. */
const LOCK_TIMEOUT_MS = 5000;
const LOCK_RETRY_MS = 20;

/** Locks a file, and waits while another process has locked it. Returns a function that unlocks it. */
function lockFile(path: string): () => void {
  const lock = `${path}.lock`;
  for (;;) {
    try {
      createFolder(dirname(path));
      writeFileSync(lock, `${process.pid}\n`, { flag: "wx" });
      return () => rmSync(lock, { force: true });
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") {
        throw invalidInput(path, `${explainFileError(error, "written")} ${OTHER_PATH}`);
      }
    }
    if (Date.now() - lockedSince(lock) > LOCK_TIMEOUT_MS) rmSync(lock, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_RETRY_MS);
  }
}

/** The time at which a lock was taken; the present if it has just been released. */
function lockedSince(lock: string): number {
  return statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
}

function readEntries(path: string): readonly Entry[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return [];
    throw invalidInput(path, `${explainFileError(error, "read")} ${OTHER_PATH}`);
  }
  const parsed = fileSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data.watchedDomains;
  throw invalidInput(
    path,
    "This is not the state of a watch. Give another path with --state, or delete the file.",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Replaces the file, so that an interruption leaves the old or the new content. */
function writeEntries(path: string, watchedDomains: readonly Entry[]): void {
  // No other file has this name, so none is lost.
  const next = `${path}.${randomUUID()}.next`;
  try {
    writeFileSync(next, `${JSON.stringify({ watchedDomains }, null, 2)}\n`, { flag: "wx" });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw invalidInput(path, `${explainFileError(error, "written")} ${OTHER_PATH}`);
  }
}
