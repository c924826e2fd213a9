import type { Instant } from "../clock.ts";
import type { AccountErrorCode, Failure } from "../errors.ts";
import type { PlanAssignment } from "../plans/plan-limits.ts";
import { DAY_MS, type Usage } from "../plans/windows.ts";

/** An API key as it is stored. The key itself is never stored. See lib/README.md#accounts-and-keys. */
export interface ApiKey {
  /** `<account>.<10 characters>`. Not a secret. */
  readonly id: string;
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
  readonly createdAt: Instant;
  /** The key is inactive from this instant. */
  readonly expiresAt?: Instant;
  readonly revokedAt?: Instant;
  /** The identifier of the key that a rotation issued in place of this one. */
  readonly successorId?: string;
}

/** What operators configure for an account. */
export interface AccountSettings extends PlanAssignment<string> {
  readonly id: string;
  readonly keys: readonly ApiKey[];
}

/** The rejected requests of one key in the minute that starts at `windowStart`, and the ban that they caused. */
export interface RejectionCount {
  readonly windowStart: Instant;
  readonly count: number;
  readonly bannedUntil?: Instant;
}

/** An account as a store keeps it: settings, usage and rejections. See lib/README.md#admission. */
export interface Account extends AccountSettings {
  readonly usage: Usage;
  /** By key identifier. */
  readonly rejections: Readonly<Record<string, RejectionCount>>;
}

/** The result of an operation on an account: its new settings, or why nothing changed. */
export type AccountResult = { readonly ok: true; readonly account: AccountSettings } | AccountFailure;

/** Why an operation on an account failed. */
export type AccountFailure =
  | Failure<Exclude<AccountErrorCode, "key_already_rotated">>
  | (Failure<"key_already_rotated"> & { readonly successorId: string });

/** The largest number of active keys of an account. */
export const MAX_ACTIVE_KEYS = 20;

/** The number of inactive keys that are kept for reference. Older ones are deleted, so that an account stays small. */
export const MAX_INACTIVE_KEYS = 20;

/** The longest overlap of a rotation, in milliseconds: 90 days. */
export const MAX_OVERLAP_MS = 90 * DAY_MS;

/** True until the key is revoked or expires. */
export function isActive(key: Pick<ApiKey, "expiresAt" | "revokedAt">, at: Instant): boolean {
  return key.revokedAt === undefined && (key.expiresAt ?? Infinity) > at;
}

/**
 * Adds a key. Fails with `too_many_keys` if the account has 20 active keys. An account that has this key stays as it is:
 * a store that has lost the response to a write can apply the same change again.
 */
export function addKey(account: AccountSettings, key: ApiKey, at: Instant): AccountResult {
  if (account.keys.some(({ id, hash }) => id === key.id && hash === key.hash)) return { ok: true, account };
  const active = account.keys.filter((known) => isActive(known, at));
  if (active.length >= MAX_ACTIVE_KEYS) return { ok: false, code: "too_many_keys" };
  const inactive = account.keys.filter((known) => !isActive(known, at)).slice(-MAX_INACTIVE_KEYS);
  return { ok: true, account: { ...account, keys: [...inactive, ...active, key] } };
}

/**
 * Adds a successor to a key. The old key expires after `overlapMs`, or earlier if it would have expired earlier. The
 * successor inherits the original expiry, so a rotation never extends a key's lifetime. A key can be rotated only once,
 * because a second successor would inherit the shortened expiry.
 */
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
  // This rotation was applied before; see `addKey`.
  if (successorId === successor.id) return { ok: true, account };
  if (!isActive(old, at)) return { ok: false, code: "key_not_active" };
  if (successorId !== undefined) return { ok: false, code: "key_already_rotated", successorId };
  const expiresAt = Math.min(old.expiresAt ?? Infinity, at + overlapMs);
  const rotated = { ...old, expiresAt, successorId: successor.id };
  const expiry = old.expiresAt === undefined ? {} : { expiresAt: old.expiresAt };
  return addKey(withKey(account, rotated), { ...successor, createdAt: at, ...expiry }, at);
}

/** Revokes a key at an instant. An inactive key stays as it is. */
export function revokeKey(account: AccountSettings, keyId: string, at: Instant): AccountResult {
  const key = account.keys.find(({ id }) => id === keyId);
  if (key === undefined) return { ok: false, code: "key_not_found" };
  const revoked = isActive(key, at) ? withKey(account, { ...key, revokedAt: at }) : account;
  return { ok: true, account: revoked };
}

function withKey(account: AccountSettings, key: ApiKey): AccountSettings {
  return { ...account, keys: account.keys.map((known) => (known.id === key.id ? key : known)) };
}
