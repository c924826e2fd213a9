import type { Account } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import type { Clock, Instant } from "../../clock.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import { type MinuteTraffic, type Observations, observe, trafficOf } from "./traffic.ts";

/**
 * Observes the traffic of the accounts that have been shown. A store holds only the counters of the current windows, so
 * the console remembers what it sees while it runs.
 */
export interface TrafficSampler {
  /** Records what the counters of an account say now, and observes the account from now on. */
  record(account: Account): void;
  /** Reads every observed account again. */
  sample(): Promise<void>;
  /** The last 60 minutes of an account, the current one last. */
  lastHour(accountId: string): readonly MinuteTraffic[];
}

/** The most accounts that are observed. Each costs a read three times a minute. */
const MAX_ACCOUNTS = 200;

/** Creates a sampler that has observed nothing yet. */
export function createTrafficSampler(store: AccountStore, clock: Clock): TrafficSampler {
  const observed = new Map<string, Observations>();
  const read = new Map<string, Instant>();

  function record(account: Account): void {
    const known = observed.get(account.id);
    if (known === undefined && observed.size >= MAX_ACCOUNTS) return;
    const now = clock();
    observed.set(account.id, observe(known ?? new Map(), account, now));
    read.set(account.id, now);
  }

  return {
    record,
    async sample() {
      // A page that is shown has just read its accounts.
      const due = [...read].filter(([, at]) => clock() - at >= MINUTE_MS / 6);
      for (const [id] of due) {
        const account = await store.find(id);
        if (account !== undefined) record(account);
      }
    },
    lastHour: (id) => trafficOf(observed.get(id) ?? new Map(), clock()),
  };
}
