import type { Instant } from "../core/time.ts";
import type { OrderStore } from "../orders/order-store.ts";
import type { StoreOperation } from "../orders/store-operation.ts";
import type { Account, AccountResult, AccountSettings } from "./account.ts";
import type { Admission, AdmissionPolicy, BanPolicy } from "./admission.ts";
import type { Environment, ParsedKey } from "./api-key.ts";
import type { ImportedKeys } from "./imported-keys.ts";

/**
 * Every method is atomic across all processes that share the database, and rejects with `StoreUnavailableError` if the
 * store cannot be reached. A change by an operator is durable when the promise resolves. A power failure may lose the
 * most recent counts of `admit` and `recordRejections`.
 */
export interface AccountStore {
  /** True if the data is in this process or its files. Others get few unknown keys: see lib/README.md#unknown-keys. */
  readonly isLocal?: boolean | undefined;

  /**
   * The orders on which `admit` performs an operation, compared by identity: the caller performs it on any other, such
   * as a wrapper of these. A wrapper of both names the orders that it returns.
   */
  readonly performsOn?: OrderStore | undefined;

  /** The keys that another system has issued. Without them, every key has to be one of `generateKey`. */
  readonly importedKeys?: ImportedKeys | undefined;

  /** Returns the environment of the store's keys, or `undefined` if none is recorded. */
  findEnvironment(): Promise<Environment | undefined>;

  /** Records the environment of the store's keys, unless one is recorded, and returns the one that is. */
  recordEnvironment(environment: Environment): Promise<Environment>;

  /** Fails with `account_exists`. Like `update`, rejects with `InvalidInputError` for a key of another account. */
  create(account: AccountSettings): Promise<AccountResult>;

  find(id: string): Promise<Account | undefined>;

  /** Lists at most `limit` accounts beyond `after`, ascending by identifier. They are read on demand. */
  list(after?: string, limit?: number): AsyncIterable<Account>;

  /** `updater` must be pure, because it can be called several times. Counters and bans stay unchanged. */
  update(id: string, updater: (account: AccountSettings) => AccountResult): Promise<AccountResult>;

  /** The keys are invalid from their next request on. Fails with `account_not_found`. */
  delete(id: string): Promise<AccountResult>;

  /** Sets the counters of both windows to zero. Bans stay. Fails with `account_not_found` if there is no account. */
  resetUsage(id: string): Promise<AccountResult>;

  /** Lifts the ban of a key and resets its rejection count. */
  unban(accountId: string, keyId: string): Promise<void>;

  /**
   * Applies `decideAdmission`: exact for any number of processes, and never cached. The end of a ban may remove it, but
   * not the count of the key's rejections. A store with transactions may perform `operation` on the orders that it
   * `performsOn`, in the one that admits the request, and return its `outcome`; both are then durable if it changes an
   * order. Without an outcome, the caller performs it.
   */
  admit(
    key: ParsedKey,
    at: Instant,
    policy?: AdmissionPolicy,
    operation?: StoreOperation,
  ): Promise<Admission>;

  /**
   * Applies `decideRejections` to requests that were rejected without a call of the store. The caller leaves out those
   * that do not count (`BAN_GRACE_MS`), and does not repeat it.
   */
  recordRejections(key: ParsedKey, count: number, at: Instant, policy?: BanPolicy): Promise<void>;
}
