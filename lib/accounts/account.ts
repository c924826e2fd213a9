import type { Failure } from "../core/errors.ts";
import type { Instant } from "../core/time.ts";
import type { PlanAssignment } from "../plans/plan-limits.ts";
import { DAY_MS, MAX_CLOCK_SKEW_MS, type Usage } from "../plans/windows.ts";
import { shortHash } from "./api-key.ts";

/** The reasons why an operation on an account or a key can fail, each with a message for people. */
export const ACCOUNT_ERRORS = {
  account_exists: "An account with this identifier already exists.",
  account_not_found: "There is no account with this identifier.",
  key_not_found: "There is no key with this identifier.",
  key_not_active: "The key is revoked or expired. Issue a new one instead.",
  key_already_rotated: "The key has already been rotated.",
  too_many_keys: "The account already has 20 active keys. Revoke one first.",
} as const;

/** A code of `ACCOUNT_ERRORS`. */
export type AccountErrorCode = keyof typeof ACCOUNT_ERRORS;

/** An API key as it is stored. The key itself is never stored. See lib/README.md#accounts-and-keys. */
export interface ApiKey {
  /** `<account>.<10 characters>`. Not a secret. */
  readonly id: string;
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
  /** What people call it, such as the program that uses it. Not unique. */
  readonly name?: string;
  readonly createdAt: Instant;
  /** The key is inactive from this instant. */
  readonly expiresAt?: Instant;
  readonly revokedAt?: Instant;
  /** The identifier of the key that a rotation issued in place of this one. */
  readonly successorId?: string;
}

/** The settings of an account, which operators configure. */
export interface AccountSettings extends PlanAssignment<string> {
  readonly id: string;
  readonly keys: readonly ApiKey[];
}

/** The rejected requests of one key in the minute that starts at `windowStart`, and the ban that they caused. */
export interface RejectionCount {
  readonly windowStart: Instant;
  /** Rejections that count towards a ban. */
  readonly count: number;
  /** While `count` is 0: the instant of the first one, which lies in the minute. See `BAN_GRACE_MS`. */
  readonly firstAt?: Instant;
  readonly bannedUntil?: Instant;
}

/** An account as a store keeps it: settings, usage and rejections. See lib/stores/README.md#admission. */
export interface Account extends AccountSettings {
  readonly usage: Usage;
  /** By key identifier. */
  readonly rejections: Readonly<Record<string, RejectionCount>>;
  /** The minute of the last admitted request by key identifier, if the store keeps it. Missing for a key without one. */
  readonly lastUses?: Readonly<Record<string, Instant>>;
}

/** The result of an operation on an account: its new settings, or the reason why nothing changed. */
export type AccountResult = { readonly ok: true; readonly account: AccountSettings } | AccountFailure;

/** The reason why an operation on an account failed. */
export type AccountFailure =
  | Failure<Exclude<AccountErrorCode, "key_already_rotated">>
  | (Failure<"key_already_rotated"> & { readonly successorId: string });

export function explainAccountError(failure: AccountFailure): string {
  const message = ACCOUNT_ERRORS[failure.code];
  return failure.code === "key_already_rotated"
    ? `${message} Use its successor, ${failure.successorId}.`
    : message;
}

/** As many revoked and expired keys each are kept for reference, so that an account stays small. */
export const MAX_ACTIVE_KEYS = 20;

export const MAX_OVERLAP_MS = 90 * DAY_MS;

/** True until the key is revoked or expires, also while it is banned. */
export function isActive(key: Pick<ApiKey, "expiresAt" | "revokedAt">, at: Instant): boolean {
  return key.revokedAt === undefined && (key.expiresAt ?? Infinity) > at;
}

/** Adds a key, or fails with `too_many_keys`. A key that the account has is not added again, so a retry is safe. */
export function addKey(account: AccountSettings, key: ApiKey, at: Instant): AccountResult {
  // A store can have lost all of a hash but its end.
  if (account.keys.some(({ hash }) => shortHash(hash) === shortHash(key.hash))) return { ok: true, account };
  const active = account.keys.filter((known) => isActive(known, at));
  if (active.length >= MAX_ACTIVE_KEYS) return { ok: false, code: "too_many_keys" };
  const revoked = account.keys.filter(({ revokedAt }) => revokedAt !== undefined).slice(-MAX_ACTIVE_KEYS);
  // A clock that is ahead takes active keys for expired. They expire last, so none of them is deleted.
  const expired = account.keys
    .filter((known) => known.revokedAt === undefined && !isActive(known, at))
    .toSorted((a, b) => Number(a.expiresAt) - Number(b.expiresAt))
    .slice(-MAX_ACTIVE_KEYS);
  return { ok: true, account: { ...account, keys: [...revoked, ...expired, ...active, key] } };
}

/** The successor has the expiry of the old key, which expires after `overlapMs` or earlier. A key is rotated once. */
export function rotateKey(
  account: AccountSettings,
  keyId: string,
  successor: Pick<ApiKey, "id" | "hash">,
  overlapMs: number,
  at: Instant,
): AccountResult {
  const old = account.keys.find(({ id }) => id === keyId);
  if (old === undefined) return { ok: false, code: "key_not_found" };
  const { successorId } = old;
  // A repetition of the rotation changes nothing; see `addKey`.
  if (successorId === successor.id) return { ok: true, account };
  if (!isActive(old, at)) return { ok: false, code: "key_not_active" };
  if (successorId !== undefined) return { ok: false, code: "key_already_rotated", successorId };
  const expiresAt = Math.min(old.expiresAt ?? Infinity, at + overlapMs);
  const rotated = { ...old, expiresAt, successorId: successor.id };
  const { id: _id, hash: _hash, ...kept } = old;
  return addKey(withKey(account, rotated), { ...kept, ...successor, createdAt: at }, at);
}

/** Revokes a key at an instant, also one that has expired: by another clock it can be active. */
export function revokeKey(account: AccountSettings, keyId: string, at: Instant): AccountResult {
  const key = account.keys.find(({ id }) => id === keyId);
  if (key === undefined) return { ok: false, code: "key_not_found" };
  const isRevoked = key.revokedAt !== undefined;
  return { ok: true, account: isRevoked ? account : withKey(account, { ...key, revokedAt: at }) };
}

function withKey(account: AccountSettings, key: ApiKey): AccountSettings {
  return { ...account, keys: account.keys.map((known) => (known.id === key.id ? key : known)) };
}

/** The end of a ban, 0 without one. A ban whose minute a wrong clock opened is ignored, like such a window. */
export function banEndAt(rejections: RejectionCount | undefined, at: Instant): Instant {
  const { windowStart, bannedUntil = 0 } = rejections ?? { windowStart: 0 };
  return bannedUntil > at && windowStart <= at + MAX_CLOCK_SKEW_MS ? bannedUntil : 0;
}
