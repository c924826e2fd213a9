/** The traffic of the accounts that the console has shown, as it observes it while it runs. */
import type { Account } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import type { Clock, Instant } from "../../core/time.ts";
import { DAY_MS, MINUTE_MS } from "../../plans/windows.ts";

/** The counters of an account, as they were read in one minute. */
interface Observation {
  /** Requests that were admitted on this day before the minute began: exact, however late in the minute it was read. */
  readonly before: number;
  /** Requests that were admitted in the minute, up to the last time it was read. */
  readonly during: number;
  /** The day that `before` counts from. */
  readonly day: Instant;
  /** The most rejections of each key that were seen in the minute. */
  readonly rejections: Readonly<Record<string, number>>;
}

/** The observations of an account by the start of their minute. */
export type Observations = ReadonlyMap<Instant, Observation>;

/** The requests of one minute. `undefined` if the console did not observe it. */
export interface MinuteTraffic {
  readonly start: Instant;
  readonly admitted: number | undefined;
  /** As far as the store held the count when it was read. */
  readonly rejected: number;
}

const MINUTES = 60;

/** Adds an account's counters at an instant, and removes those that are older than an hour. */
export function observe(known: Observations, { usage, rejections }: Account, now: Instant): Observations {
  const own = now - (now % MINUTE_MS);
  // A process whose clock is ahead has opened the next minute already.
  const start = Math.max(own, usage.minute.start > now + MINUTE_MS ? own : usage.minute.start);
  const day = start - (start % DAY_MS);
  const during = usage.minute.start === start ? usage.minute.count : 0;
  const total = usage.day.start === day ? usage.day.count : 0;
  const next = new Map([...known].filter(([minute]) => minute > start - (MINUTES + 1) * MINUTE_MS));
  next.set(start, { before: total - during, during, day, rejections: next.get(start)?.rejections ?? {} });
  for (const [key, { windowStart, count }] of Object.entries(rejections)) {
    const minute = next.get(windowStart);
    if (minute === undefined) continue;
    const most = Math.max(minute.rejections[key] ?? 0, count);
    next.set(windowStart, { ...minute, rejections: { ...minute.rejections, [key]: most } });
  }
  return next;
}

/**
 * The last 60 minutes. The requests of a minute are the difference between the counts before it and before the next one,
 * so both must have been observed. Nothing is estimated.
 */
export function trafficOf(known: Observations, now: Instant): readonly MinuteTraffic[] {
  const current = now - (now % MINUTE_MS);
  return Array.from({ length: MINUTES }, (_, index) => {
    const start = current - (MINUTES - 1 - index) * MINUTE_MS;
    const own = known.get(start);
    const rejected = Object.values(own?.rejections ?? {}).reduce((sum, count) => sum + count, 0);
    return {
      start,
      admitted: own && admittedIn(own, known.get(start + MINUTE_MS), start === current),
      rejected,
    };
  });
}

function admittedIn(own: Observation, next: Observation | undefined, isCurrent: boolean): number | undefined {
  if (isCurrent) return own.during;
  const isComparable = next !== undefined && next.day === own.day;
  // Less than before: an operator has set the counters to zero.
  return isComparable && next.before >= own.before ? next.before - own.before : undefined;
}

/** The most accounts that are observed. Each costs a read three times a minute. */
const MAX_ACCOUNTS = 200;

/**
 * Observes the traffic of the accounts that have been shown. A store holds only the counters of the current windows, so
 * the console keeps the samples that it takes while it runs.
 */
export class TrafficSampler {
  readonly #store: AccountStore;
  readonly #clock: Clock;
  /** By account: its observations, and the time of the last one. */
  readonly #observed = new Map<string, { readonly known: Observations; readonly at: Instant }>();

  constructor(store: AccountStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Records the present counters of an account, and observes the account from now on. */
  record(account: Account): void {
    const earlier = this.#observed.get(account.id);
    if (earlier === undefined && this.#observed.size >= MAX_ACCOUNTS) return;
    const at = this.#clock();
    this.#observed.set(account.id, { known: observe(earlier?.known ?? new Map(), account, at), at });
  }

  /** Reads every observed account again, except those that a page has just read. */
  async sample(): Promise<void> {
    const due = [...this.#observed].filter(([, { at }]) => this.#clock() - at >= MINUTE_MS / 6);
    for (const [id] of due) {
      const account = await this.#store.find(id);
      if (account !== undefined) this.record(account);
    }
  }

  /** The last 60 minutes of an account, the current one last. */
  lastHour(accountId: string): readonly MinuteTraffic[] {
    return trafficOf(this.#observed.get(accountId)?.known ?? new Map(), this.#clock());
  }
}
