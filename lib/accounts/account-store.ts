import type { Instant } from "../clock.ts";
import type { Refusal } from "../errors.ts";
import type { Account, AccountSettings } from "./account.ts";
import type { Admission, BanPolicy } from "./admission.ts";
import type { ParsedKey } from "./api-key.ts";

/**
 * Where accounts are kept. Every method is atomic, across all processes on the same database, and durable when
 * its promise resolves. A store that cannot be asked rejects with `StoreUnavailableError`.
 */
export interface AccountStore {
  /** Adds an account. `false`, and nothing changed, where its identifier is taken. */
  create(account: AccountSettings): Promise<boolean>;

  /** The account as it is now. `undefined`: no such account. */
  find(id: string): Promise<Account | undefined>;

  /** All accounts, ascending by identifier. */
  list(): AsyncIterable<Account>;

  /**
   * Replaces the settings by what `decide` makes of them; a refusal changes nothing. `decide` is pure and may be
   * called again when another process was faster. Counters and bans are not touched.
   */
  update(
    id: string,
    decide: (account: AccountSettings) => AccountSettings | Refusal,
  ): Promise<AccountSettings | Refusal>;

  /** Forgets the refusals of a key and lifts its ban. */
  unban(accountId: string, keyId: string): Promise<void>;

  /**
   * Applies `admission` to the caller that the key belongs to. With any number of callers in any number of
   * processes exactly the limit is admitted. No cache: a revoked key, a new plan, a ban hold at the next call.
   * Where it is refused it counts as `refusals` (1).
   */
  admit(key: ParsedKey, at: Instant, policy?: BanPolicy, refusals?: number): Promise<Admission>;
}
