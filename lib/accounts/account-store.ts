import type { Instant } from "../core/time.ts";
import type { StoreOperation } from "../orders/store-operation.ts";
import type { Account, AccountResult, AccountSettings } from "./account.ts";
import type { Admission, AdmissionPolicy, BanPolicy } from "./admission.ts";
import type { Environment, ParsedKey } from "./api-key.ts";

/**
 * A store of accounts. Every method is atomic, across all processes that share the database, and rejects with
 * `StoreUnavailableError` if the store cannot be reached.
 *
 * A change by an operator is durable when the promise resolves: all methods but the last two. The counts of `admit` and
 * `recordRejections` must survive the end of the process. A power failure may lose the most recent ones, as in SQLite.
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

  /**
   * Lists accounts, ascending by identifier: those beyond `after`, at most `limit` of them. They are read on demand.
   */
  list(after?: string, limit?: number): AsyncIterable<Account>;

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
   * may remove the ban of the key, if it has ended, but not the count of its rejections.
   *
   * A store with transactions may perform `operation` in the one that admits the request, at `at`, and return its
   * `outcome`. Both are then durable if the operation changes an order. A store without leaves the outcome out, and so
   * does one whose operation fails while the admission does not: the caller performs it then. A rejected request
   * performs nothing.
   */
  admit(
    key: ParsedKey,
    at: Instant,
    policy?: AdmissionPolicy,
    operation?: StoreOperation,
  ): Promise<Admission>;

  /**
   * Applies `decideRejections`: counts requests that were rejected without a call of the store, and bans the key if
   * there are too many. A failed call may have been counted. To retry it, pass the same `token`, so that it counts
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
