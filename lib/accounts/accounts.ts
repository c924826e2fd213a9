import { assertOptions, invalidInput } from "../core/errors.ts";
import { assertInstant, type Clock, type Instant, systemClock, wholeClock } from "../core/time.ts";
import {
  type PLAN_LIMITS,
  type Plan,
  type PlanAssignment,
  type PlanTable,
  validatePlan,
  validatePlans,
} from "../plans/plan-limits.ts";
import { DAY_MS } from "../plans/windows.ts";
import {
  type AccountFailure,
  type AccountResult,
  type AccountSettings,
  type ApiKey,
  addKey,
  MAX_OVERLAP_MS,
  revokeKey,
  rotateKey,
} from "./account.ts";
import type { AccountStore } from "./account-store.ts";
import {
  digestKey,
  type Environment,
  generateKey,
  isAccountId,
  isEnvironment,
  keyIdOf,
  redactKeys,
} from "./api-key.ts";

/** A key that was just issued. Keep it: it is not shown again. */
export interface IssuedKey {
  readonly ok: true;
  readonly accountId: string;
  readonly keyId: string;
  readonly key: string;
  /** Missing if the key does not expire. */
  readonly expiresAt?: Instant;
}

/** A key of another system, which now is one of the account. */
export type ImportedKey = Omit<IssuedKey, "key">;

/** The result of issuing a key. */
export type KeyResult = IssuedKey | AccountFailure;

/** Operations on accounts and keys. Each rejects with `InvalidInputError` or `StoreUnavailableError`. */
export interface Accounts<Name extends string = Plan> {
  create(accountId: string, plan: PlanAssignment<Name>): Promise<AccountResult>;
  /** The windows keep their counts. A larger plan takes effect within a second: see lib/stores/README.md#admission. */
  setPlan(accountId: string, plan: PlanAssignment<Name>): Promise<AccountResult>;
  /** Deletes an account with its keys, which are invalid from their next request on. Its orders stay. */
  delete(accountId: string): Promise<AccountResult>;
  /** Sets the counters of both windows to zero. Bans stay. */
  resetUsage(accountId: string): Promise<AccountResult>;
  /** Issues a key, which is active until `expiresAt` or until it is revoked. A name has at most 64 characters. */
  issueKey(
    accountId: string,
    options?: { readonly expiresAt?: Instant; readonly name?: string },
  ): Promise<KeyResult>;
  /**
   * Adds a key by its SHA-256 in hexadecimal; see lib/README.md#existing-keys. Of a key that the account has, nothing
   * changes, so a retry is safe, and a revoked one stays revoked.
   */
  importKey(
    accountId: string,
    key: { readonly hash: string; readonly name?: string; readonly expiresAt?: Instant },
  ): Promise<ImportedKey | AccountFailure>;
  /** Issues a successor with the name and the expiry of the old key, which expires after `overlapMs` or earlier. */
  rotateKey(keyId: string, options: { readonly overlapMs: number }): Promise<KeyResult>;
  revokeKey(keyId: string): Promise<AccountResult>;
  /** Lifts the ban of a key and resets its rejection count. */
  unbanKey(keyId: string): Promise<AccountResult>;
}

/** Options of `createAccounts`. */
export interface AccountsOptions<Plans extends PlanTable = typeof PLAN_LIMITS> {
  readonly store: AccountStore;
  /** The environment segment of new keys. @default that of the store's keys; without one, no key can be issued */
  readonly environment?: Environment | undefined;
  /** @default the system clock */
  readonly clock?: Clock;
  /** The plans that accounts can have. Pass the same to `createHandler`. @default PLAN_LIMITS */
  readonly plans?: Plans;
}

/** Creates the account operations over a store. Throws `InvalidInputError` if an option is invalid. */
export function createAccounts<const Plans extends PlanTable = typeof PLAN_LIMITS>(
  options: AccountsOptions<Plans>,
): Accounts<keyof Plans & string> {
  assertOptions(options, ["store", "environment", "clock", "plans"]);
  const { store, environment, clock: givenClock = systemClock, plans } = options;
  const clock = wholeClock(givenClock);
  if (plans !== undefined) validatePlans(plans);
  if (environment !== undefined && !isEnvironment(environment))
    throw invalidInput("environment", "Choose one of test, live.");

  /** The first key fixes the environment of the store, which is recorded only before a change that will succeed. */
  async function issue(
    accountId: string,
    change: (account: AccountSettings, key: Pick<ApiKey, "id" | "hash">) => AccountResult,
  ): Promise<KeyResult> {
    const recorded = await store.findEnvironment();
    const wanted = environment ?? recorded;
    if (!isEnvironment(wanted)) throw invalidInput("environment", FIRST_KEY_RULE);
    const key = generateKey(wanted, accountId);
    const hash = await digestKey(key);
    const created = { id: keyIdOf(accountId, hash), hash };
    if (recorded === undefined) {
      const account = await store.find(accountId);
      const expected = account ? change(account, created) : NOT_FOUND;
      if (!expected.ok) return expected;
    }
    const actual = recorded ?? (await store.recordEnvironment(wanted));
    if (actual !== wanted) throw invalidInput("environment", explainEnvironment(actual, wanted));
    const result = await store.update(accountId, (account) => change(account, created));
    return result.ok ? { ...added(result.account, created.id), key } : result;
  }

  return {
    async create(accountId, plan) {
      if (!isAccountId(accountId)) throw invalidInput("accountId", ACCOUNT_ID_RULE);
      return store.create({ id: accountId, ...validatePlan(plan, plans), keys: [] });
    },

    async setPlan(accountId, plan) {
      const assignment = validatePlan(plan, plans);
      return store.update(accountId, ({ id, keys }) => ({ ok: true, account: { id, ...assignment, keys } }));
    },

    delete: async (accountId) => store.delete(accountId),

    resetUsage: async (accountId) => store.resetUsage(accountId),

    async issueKey(accountId, given = {}) {
      const at = clock();
      const settings = keySettings(given, at);
      return issue(accountId, (account, key) => addKey(account, { ...key, createdAt: at, ...settings }, at));
    },

    async importKey(accountId, { hash, ...given }) {
      const at = clock();
      if (store.importedKeys === undefined) throw invalidInput("store", NO_IMPORTS);
      if (!/^[0-9a-f]{64}$/.test(hash)) throw invalidInput("hash", HASH_RULE);
      const settings = keySettings(given, at);
      const account = await store.find(accountId);
      if (account === undefined) return NOT_FOUND;
      const id = keyIdOf(accountId, hash);
      // First where it is found: a record without its key has no effect.
      await store.importedKeys.record(hash, accountId);
      const result = await store.update(accountId, (found) =>
        addKey(found, { id, hash, createdAt: at, ...settings }, at),
      );
      if (!result.ok) return result;
      if ((await store.importedKeys.findAccount(hash)) === accountId) return added(result.account, id);
      // Another account has imported it at the same time, on a store that cannot prevent it.
      const without = (found: AccountSettings) => found.keys.filter((each) => each.id !== id);
      await store.update(accountId, (found) => ({ ok: true, account: { ...found, keys: without(found) } }));
      throw invalidInput("hash", "Another account has a key with the same hash, or imports it now.");
    },

    async rotateKey(keyId, { overlapMs }) {
      if (!(Number.isInteger(overlapMs) && overlapMs >= 0 && overlapMs <= MAX_OVERLAP_MS))
        throw invalidInput("overlapMs", `Use an overlap from 0 to ${MAX_OVERLAP_MS / DAY_MS} days.`);
      const at = clock();
      const accountId = accountInKeyId(keyId);
      return issue(accountId, (account, key) => rotateKey(account, keyId, key, overlapMs, at));
    },

    async revokeKey(keyId) {
      const at = clock();
      return store.update(accountInKeyId(keyId), (account) => revokeKey(account, keyId, at));
    },

    async unbanKey(keyId) {
      const account = await store.find(accountInKeyId(keyId));
      if (account === undefined) return NOT_FOUND;
      if (!account.keys.some(({ id }) => id === keyId)) return { ok: false, code: "key_not_found" };
      await store.unban(account.id, keyId);
      return { ok: true, account };
    },
  };
}

const NOT_FOUND = { ok: false, code: "account_not_found" } as const;

const FIRST_KEY_RULE = "Choose test or live: all keys of this store will be for it.";

function explainEnvironment(recorded: Environment, wanted: Environment): string {
  return (
    `The keys of this store are for '${recorded}', since its first one was, so none can be issued for '${wanted}'. ` +
    `Set STORE_ORDERS_ENVIRONMENT, in code 'environment', to ${recorded}, or use another store.`
  );
}

export const ACCOUNT_ID_RULE =
  "Use 1 to 32 lower-case letters, digits and hyphens, and do not start with a hyphen.";

const NO_IMPORTS = "It cannot import keys: it has no importedKeys. Use another store.";
const HASH_RULE = "Give the SHA-256 of the whole key, as 64 hexadecimal digits in lower case.";
const NAME_RULE = "Use 1 to 64 characters: no control characters, no spaces at the ends, and no key.";

function keySettings(given: Pick<ApiKey, "name" | "expiresAt">, at: Instant) {
  // Without an expiry, a key is valid for ever.
  assertOptions(given, ["name", "expiresAt"]);
  const { name, expiresAt } = given;
  if (name !== undefined && !isKeyName(name)) throw invalidInput("name", NAME_RULE);
  if (expiresAt !== undefined && assertInstant(expiresAt, "expiresAt") <= at)
    throw invalidInput("expiresAt", "Give a time in the future.");
  return { ...(name === undefined ? {} : { name }), ...(expiresAt === undefined ? {} : { expiresAt }) };
}

function added(account: AccountSettings, keyId: string): ImportedKey {
  const expiresAt = account.keys.find(({ id }) => id === keyId)?.expiresAt;
  return { ok: true, accountId: account.id, keyId, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

function accountInKeyId(keyId: string): string {
  return keyId.slice(0, Math.max(0, keyId.lastIndexOf(".")));
}

/** A name is shown to people. Whoever pastes a key there would store it readably. */
function isKeyName(value: string): boolean {
  const isText = value.isWellFormed() && redactKeys(value) === value;
  return isText && /^[^\p{C}]{1,64}$/u.test(value) && value.trim() === value;
}
