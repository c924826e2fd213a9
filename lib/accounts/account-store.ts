import type { Instant } from "../clock.ts";
import type { Account, AccountResult, AccountSettings } from "./account.ts";
import type { Admission, AdmissionPolicy, BanPolicy, Caller } from "./admission.ts";
import type { Environment, ParsedKey } from "./api-key.ts";

/**
 * What a request does once it is admitted. A store with transactions can start it in the one that admits the request,
 * which then costs one commit instead of two.
 */
export interface AdmittedWork {
  /** True if it changes something that must be durable when the call resolves. */
  readonly durable: boolean;
  /**
   * Calls the order store of the same database. Called by `admit` for an admitted request only, before it resolves, and
   * again if the transaction is repeated. Must not throw. The result of the calls counts only if `admit` resolves.
   *
   * Only a call that is made before `start` returns can join the transaction, so nothing between them may wait: neither
   * the implementation of `start`, nor what wraps the order store. A later call has a transaction of its own.
   */
  start(caller: Caller): void;
}

/**
 * Where accounts are stored. Every method is atomic, across all processes that share the database, and rejects with
 * `StoreUnavailableError` if the store cannot be reached.
 *
 * What operators change is durable when the promise resolves: all methods but the last two. What `admit` and
 * `recordRejections` count must survive the end of the process. A power failure may lose the most recent counts, as in
 * SQLite.
 */
export interface AccountStore {
  /**
   * Records the environment of the store's keys, unless one is recorded. Returns the one that is recorded: the first
   * caller decides, for all processes and for good.
   */
  recordEnvironment(environment: Environment): Promise<Environment>;

  /** Adds an account. Fails with `account_exists` if the identifier is taken. */
  create(account: AccountSettings): Promise<AccountResult>;

  /** Returns the account, or `undefined` if there is none. */
  find(id: string): Promise<Account | undefined>;

  /** Lists all accounts, ascending by identifier. */
  list(): AsyncIterable<Account>;

  /**
   * Replaces the settings with those that `updater` returns, or changes nothing if it returns a failure. `updater` must
   * be pure: it is called again if another process changed the account in between. Counters and bans stay unchanged.
   */
  update(id: string, updater: (account: AccountSettings) => AccountResult): Promise<AccountResult>;

  /** Sets the counters of both windows to zero. Bans stay. Fails with `account_not_found` if there is no account. */
  resetUsage(id: string): Promise<AccountResult>;

  /** Lifts the ban of a key and resets its rejection count. */
  unban(accountId: string, keyId: string): Promise<void>;

  /**
   * Applies `decideAdmission` to the key's account. The limit is exact for any number of callers and processes. An
   * admission is never cached: a revoked key, a new plan and a ban take effect at the next call. Admitting a request
   * may remove what has ended by then: the ban of the key, and its rejections of another minute. A store with
   * transactions can start `work` in the one that admits; both are then durable if `work` is. Other stores ignore it.
   */
  admit(key: ParsedKey, at: Instant, policy?: AdmissionPolicy, work?: AdmittedWork): Promise<Admission>;

  /**
   * Applies `decideRejections`: counts requests that were rejected without a call of the store, and bans the key if
   * there are too many. A failed call may have been counted. To repeat it, pass the same `token`, so that it counts
   * once.
   */
  recordRejections(
    key: ParsedKey,
    count: number,
    at: Instant,
    policy?: BanPolicy,
    token?: string,
  ): Promise<void>;
}
