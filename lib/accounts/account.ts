import type { Instant } from "../clock.ts";
import type { Refusal } from "../errors.ts";
import type { PlanAssignment } from "../plans/plan-limits.ts";
import type { Usage } from "../plans/windows.ts";

/** A key as it is kept: never the key itself (decision 9). */
export interface ApiKey {
  /** Names the key to people: `<account>.<random>`. Not a secret. */
  readonly id: string;
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
  readonly createdAt: Instant;
  /** From this instant on the key is dead. */
  readonly expiresAt?: Instant;
  readonly revokedAt?: Instant;
}

/** What operators decide about an account. */
export interface AccountSettings {
  readonly id: string;
  readonly terms: PlanAssignment;
  readonly keys: readonly ApiKey[];
}

/** Refused requests of one key: how many in the minute that began at `start`, and the ban that they led to. */
export interface RejectionCount {
  readonly windowStart: Instant;
  readonly count: number;
  readonly bannedUntil?: Instant;
}

/** An account as a store keeps it: one item, so that a request is admitted by one write (design, promise 2). */
export interface Account extends AccountSettings {
  readonly usage: Usage;
  /** By key identifier. */
  readonly rejections: Readonly<Record<string, RejectionCount>>;
}

/** An account owns at most this many living keys. */
export const MAX_ACTIVE_KEYS = 20;

/** Dead keys are kept for the record; beyond this many the oldest are forgotten, so that an item stays small. */
export const MAX_INACTIVE_KEYS = 20;

/** True until the key is revoked or expires. */
export function isActive(key: ApiKey, at: Instant): boolean {
  return (key.revokedAt ?? Infinity) > at && (key.expiresAt ?? Infinity) > at;
}

/** Adds a key. Refused where the account has its 20 living keys already. */
export function addKey(account: AccountSettings, key: ApiKey, at: Instant): AccountSettings | Refusal {
  const living = account.keys.filter((known) => isActive(known, at));
  if (living.length >= MAX_ACTIVE_KEYS) return { refused: "too_many_keys" };
  const dead = account.keys.filter((known) => !isActive(known, at)).slice(-MAX_INACTIVE_KEYS);
  return { ...account, keys: [...dead, ...living, key] };
}

/**
 * Puts a successor beside a key, which then lives for `overlap` milliseconds more and never longer than it would
 * have. The successor inherits the expiry: a rotation widens nothing.
 */
export function rotateKey(
  account: AccountSettings,
  keyId: string,
  successor: Pick<ApiKey, "id" | "hash">,
  overlap: number,
  at: Instant,
): AccountSettings | Refusal {
  const old = account.keys.find(({ id }) => id === keyId);
  if (old === undefined) return { refused: "key_not_found" };
  if (!isActive(old, at)) return { refused: "key_not_active" };
  const shortened = {
    ...old,
    expiresAt: Math.min(old.expiresAt ?? Infinity, at + overlap),
  };
  const expiry = old.expiresAt === undefined ? {} : { expiresAt: old.expiresAt };
  return addKey(withKey(account, shortened), { ...successor, createdAt: at, ...expiry }, at);
}

/** Ends a key at an instant. A dead key stays as it is. */
export function revokeKey(account: AccountSettings, keyId: string, at: Instant): AccountSettings | Refusal {
  const key = account.keys.find(({ id }) => id === keyId);
  if (key === undefined) return { refused: "key_not_found" };
  return isActive(key, at) ? withKey(account, { ...key, revokedAt: at }) : account;
}

function withKey(account: AccountSettings, key: ApiKey): AccountSettings {
  return {
    ...account,
    keys: account.keys.map((known) => (known.id === key.id ? key : known)),
  };
}
