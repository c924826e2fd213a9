import { type Clock, type Instant, systemClock } from "../clock.ts";
import { InvalidInputError, type Refusal } from "../errors.ts";
import {
  isPlan,
  limitsOf,
  MAX_REQUESTS_PER_MINUTE,
  PLANS,
  type PlanAssignment,
} from "../plans/plan-limits.ts";
import { type AccountSettings, addKey, revokeKey, rotateKey } from "./account.ts";
import type { AccountStore } from "./account-store.ts";
import { ACCOUNT_ID, type Environment, generateKey, hashKey, randomBase62 } from "./api-key.ts";

/** A key at the one moment when it is known: keep it, it is not shown again. */
export interface IssuedKey {
  readonly account: string;
  readonly keyId: string;
  readonly key: string;
  /** When it expires; `null` for never. */
  readonly expires: Instant | null;
}

/** What an operator does with accounts and keys. A refusal is returned; invalid input throws `InvalidInputError`. */
export interface Accounts {
  /** Opens an account without keys. Refused where its identifier is taken. */
  create(id: string, terms: PlanAssignment): Promise<AccountSettings | Refusal>;
  /** Changes the plan at once. A running window keeps its count and takes the new limit. */
  setPlan(id: string, terms: PlanAssignment): Promise<AccountSettings | Refusal>;
  /** Adds a key, which is told this once. It lives until `expiresAt`, or until it is revoked. */
  issueKey(id: string, options?: { expiresAt?: Instant }): Promise<IssuedKey | Refusal>;
  /** Issues a successor; the old key lives for `overlap` milliseconds more, never longer than it would have. */
  rotateKey(keyId: string, options: { overlap: number }): Promise<IssuedKey | Refusal>;
  /** Ends a key at once. */
  revokeKey(keyId: string): Promise<AccountSettings | Refusal>;
  /** Lifts the ban of a key and forgets its refusals. */
  unbanKey(keyId: string): Promise<AccountSettings | Refusal>;
}

/** Binds the use cases to a store, a clock, and the environment that its keys are for. */
export function createAccounts({
  store,
  environment,
  clock = systemClock,
}: {
  store: AccountStore;
  environment: Environment;
  clock?: Clock;
}): Accounts {
  const newKey = (accountId: string) => {
    const key = generateKey(environment, accountId);
    return { key, id: `${accountId}.${randomBase62(10)}`, hash: hashKey(key) };
  };

  return {
    async create(id, terms) {
      if (!ACCOUNT_ID.test(id)) {
        throw new InvalidInputError([
          {
            path: "account",
            message: "Use 1 to 32 lower-case letters, digits and hyphens, and no hyphen at the start.",
          },
        ]);
      }
      const account = { id, terms: checkTerms(terms), keys: [] };
      return (await store.create(account)) ? account : { refused: "account_exists" };
    },

    setPlan: async (id, terms) => {
      const checked = checkTerms(terms);
      return store.update(id, (account) => ({ ...account, terms: checked }));
    },

    async issueKey(id, { expiresAt } = {}) {
      const at = clock();
      if (expiresAt !== undefined && !(expiresAt > at)) {
        throw new InvalidInputError([{ path: "expires", message: "Give an instant in the future." }]);
      }
      const { key, ...made } = newKey(id);
      const stored = {
        ...made,
        createdAt: at,
        ...(expiresAt === undefined ? {} : { expiresAt }),
      };
      const account = await store.update(id, (settings) => addKey(settings, stored, at));
      return "refused" in account ? account : issued(account, made.id, key);
    },

    async rotateKey(keyId, { overlap }) {
      const at = clock();
      const { key, ...successor } = newKey(accountOf(keyId));
      const account = await store.update(accountOf(keyId), (settings) =>
        rotateKey(settings, keyId, successor, overlap, at),
      );
      return "refused" in account ? account : issued(account, successor.id, key);
    },

    async revokeKey(keyId) {
      const at = clock();
      return store.update(accountOf(keyId), (account) => revokeKey(account, keyId, at));
    },

    async unbanKey(keyId) {
      const account = await store.find(accountOf(keyId));
      if (account === undefined) return { refused: "account_not_found" };
      if (!account.keys.some(({ id }) => id === keyId)) return { refused: "key_not_found" };
      await store.unban(account.id, keyId);
      return account;
    },
  };
}

function issued(account: AccountSettings, keyId: string, key: string): IssuedKey {
  const expires = account.keys.find(({ id }) => id === keyId)?.expiresAt ?? null;
  return { account: account.id, keyId, key, expires };
}

/** A key's identifier names its account: `<account>.<random>`. */
function accountOf(keyId: string): string {
  return keyId.slice(0, Math.max(0, keyId.lastIndexOf(".")));
}

/** Checks a plan and what was agreed about it, so that no account is ever without limits (decision 13). */
function checkTerms(terms: PlanAssignment): PlanAssignment {
  const { plan, customLimits: custom } = terms;
  const refuse = (path: string, message: string) => new InvalidInputError([{ path, message }]);
  if (!isPlan(plan)) throw refuse("plan", `Choose one of ${PLANS.join(", ")}.`);
  if (plan !== "enterprise") {
    if (custom !== undefined)
      throw refuse("plan", `The ${plan} plan has fixed limits; only enterprise takes its own.`);
    return { plan };
  }
  const limits = limitsOf(terms);
  if (limits === undefined)
    throw refuse("plan", "An enterprise account needs its limits per minute and per day.");
  for (const [path, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1) throw refuse(path, "Give a whole number of at least 1.");
  }
  if (limits.perMinute > MAX_REQUESTS_PER_MINUTE) {
    throw refuse(
      "perMinute",
      `At most ${MAX_REQUESTS_PER_MINUTE}: one account takes about 1,000 writes a second.`,
    );
  }
  return {
    plan,
    customLimits: { perMinute: limits.perMinute, perDay: limits.perDay },
  };
}
